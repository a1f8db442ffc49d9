"""Part of ``made_by.py``: the name of every theorem of 0.1.0, and proofs in which they stand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from made_certificates import nodes

from reticent.privacy.adjacency import Adjacency

ONE = Fraction(1)
SMALL = Fraction(1, 10**6)


def trees() -> Iterator[tuple[str, Any]]:
    """A proof for every theorem: of each mechanism's first specimen, and of every way to put proofs together."""
    from reticent.mechanisms import ALL
    from reticent.mechanisms.gaussian import Gaussian
    from reticent.mechanisms.geometric import Geometric
    from reticent.mechanisms.kary import KAry
    from reticent.mechanisms.one_sided import OneSided
    from reticent.mechanisms.privtree import PrivTree
    from reticent.mechanisms.sparse_vector import SparseVector
    from reticent.privacy import amplify, compose, convert, optimal, ptr
    from reticent.privacy.sensitivity import L1, L2, Linf

    for module in ALL:
        for place, specimen in enumerate(module.SPECIMENS):
            yield f"{module.__name__.rpartition('.')[2]} {place}", specimen.mechanism.guarantee
    near, row = Adjacency("add_remove"), Adjacency("add_remove", unit="row")
    part, other = Geometric(L1(ONE, near), ONE / 2).guarantee, Geometric(L1(ONE, near), ONE / 4).guarantee
    noise = Gaussian(L2(ONE, near), ONE / 10).guarantee
    replaced = Geometric(L1(ONE, Adjacency("substitute")), ONE / 2).guarantee
    local = KAry(4, ONE).guarantee
    objective = next(one for name, one in mechanism_trees(ALL) if name == "objective")
    yield "in sequence", compose.in_sequence([part, other])
    yield "concurrent", compose.concurrent([part, other])
    yield "across", compose.across([part, other], neighbours=near)
    yield "across, replaced", compose.across([part, other], neighbours=Adjacency("substitute"))
    yield "grouped", compose.grouped(part, 3, neighbours=near)
    yield (
        "of a person",
        compose.of_person(Geometric(L1(ONE, row), ONE / 8).guarantee, Adjacency("substitute", 5), rows=5),
    )
    yield "processed", compose.processed(part, label="rounded")
    yield "public", compose.public(Adjacency("substitute"), label="number of people")
    yield "advanced", optimal.advanced([other] * 60, SMALL)
    yield "advanced, unequal", optimal.advanced([part, *[other] * 60], SMALL)
    yield "optimal", optimal.optimal([part, other, other], SMALL)
    yield "pure in rho", convert.as_zcdp(objective)
    yield "pair in rho", convert.as_zcdp(next(one for name, one in mechanism_trees(ALL) if name == "exponential"))
    yield "rho in epsilon", convert.as_approx(noise, SMALL)
    yield "approximate in rho", convert.as_zcdp(convert.as_approx(noise, SMALL))
    yield "in Renyi orders", convert.as_approx(convert.as_renyi(noise, [Fraction(2), Fraction(8)]), SMALL)
    yield "as a pair", convert.as_approx(compose.in_sequence([convert.as_pld(part)] * 3), SMALL)
    yield "as a coin", convert.as_approx(compose.in_sequence([convert.as_pld(objective)] * 3), SMALL)
    yield "poisson", amplify.poisson(part, ONE / 10)
    yield "poisson, pair", convert.as_approx(amplify.poisson(convert.as_pld(part), ONE / 10), SMALL)
    yield "poisson, rho", convert.as_approx(compose.in_sequence([amplify.poisson(noise, ONE / 10)] * 3), SMALL)
    yield "without replacement", amplify.without_replacement(replaced, 10, 100)
    for people in (1_000, 10**9):
        yield (
            f"shuffled, {people}",
            amplify.shuffled(local, people=people, delta=SMALL, shuffler="a box", neighbours=Adjacency("substitute")),
        )
    step = ptr.measured(part, other, margin=20, law="tested")
    test = ptr.measured(part, None, margin=20)
    yield "one test", ptr.cascade([[step]])
    yield "cascade", ptr.cascade([[step, step], [step]])
    yield "parallel", ptr.parallel([ptr.cascade([[step]]), ptr.cascade([[step]])])
    yield "stages", ptr.in_stages([ptr.cascade([[step]]), ptr.cascade([[step]])])
    yield "first reply", ptr.first_reply([step, step], shown="value and step")
    yield "first reply, value alone", ptr.first_reply([step, step], shown="value")
    yield "test alone", ptr.cascade([[test, step]])
    yield "one test of many", ptr.one_test(step)
    yield "one-sided", OneSided(ONE / 2).guarantee
    yield "privtree", PrivTree(near, ONE, 1, 4).guarantee
    yield "sparse vector", SparseVector(Linf(ONE, near), ONE, 2, (1, 2, 3)).guarantee
    drawn = ptr.measured(replaced, replaced, margin=20, table="subsample")
    yield "general cascade", ptr.cascade([[drawn, drawn], [drawn]])
    yield "general parallel", ptr.parallel([ptr.cascade([[drawn]]), ptr.cascade([[drawn]])])
    together = SparseVector(Linf(ONE, near), ONE, 2, (1, 2, 0), "together")
    yield "sparse vector in rho", together.concentrated


def mechanism_trees(modules: Any) -> Iterator[tuple[str, Any]]:
    for module in modules:
        if module.SPECIMENS:
            yield module.__name__.rpartition(".")[2], module.SPECIMENS[0].mechanism.guarantee


def theorems(folder: Path) -> None:
    """Every name of a theorem of 0.1.0, and proofs in which each of them stands."""
    import importlib
    import pkgutil

    import reticent
    from reticent.mechanisms import axiom_again
    from reticent.privacy import compose, record
    from reticent.privacy.guarantee import Theorem

    names: dict[str, str] = {}
    for module in pkgutil.walk_packages(reticent.__path__, "reticent."):
        if not module.name.endswith("__main__"):
            found = vars(importlib.import_module(module.name)).values()
            names.update({one.name: one.statement for one in found if isinstance(one, Theorem)})
    kept = {name: record.to_json(tree) for name, tree in trees()}
    for tree in kept.values():
        compose.rederive(record.from_json(tree), axiom_again)
    used = {node.by.name for tree in kept.values() for node in nodes(record.from_json(tree))}
    print("theorems that stand in no tree:", sorted(set(names) - used))
    told = {"names": dict(sorted(names.items())), "trees": kept}
    (folder / "theorems.json").write_text(json.dumps(told, ensure_ascii=False) + "\n", encoding="utf-8")
