"""What mypy must refuse, and what it must let pass: the types are part of the interface.

A snippet marks a line that must fail with ``# error:`` and a part of the message. Lines without a mark must pass. All
snippets, and the statistic of CONTRIBUTING's recipe, go to one mypy process, which keeps its cache between runs.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from tests.conventions.test_statistic_recipe import CODE

ROOT = Path(__file__).parents[2]

SNIPPETS = {
    "a_no_reply_has_no_value": """
        from reticent.outcome import Estimate, Outcome

        def read(outcome: Outcome[Estimate]) -> float:
            return outcome.value.value  # error: "NoReply" of "Reply[Estimate] | NoReply" has no attribute
        """,
    "a_no_reply_is_not_a_number": """
        from reticent.outcome import NO_REPLY, Estimate, Outcome

        def mean(outcome: Outcome[Estimate]) -> Outcome[Estimate]:
            half = outcome / 2  # error: Unsupported operand types for /
            return NO_REPLY
        """,
    "a_forgotten_no_reply_is_found": """
        from typing import assert_never
        from reticent.outcome import Estimate, Outcome, Reply

        def show(outcome: Outcome[Estimate]) -> str:
            match outcome:
                case Reply(estimate):
                    return str(estimate.value)
                case _:
                    assert_never(outcome)  # error: incompatible type "NoReply"
        """,
    "an_outcome_handled_whole_passes": """
        from typing import assert_never
        from reticent.outcome import Estimate, NoReply, Outcome, Reply

        def show(outcome: Outcome[Estimate]) -> str:
            match outcome:
                case Reply(estimate):
                    return f"{estimate.low} to {estimate.high}"
                case NoReply():
                    return "no reply"
                case _:
                    assert_never(outcome)
        """,
    "a_float_is_no_epsilon": """
        from fractions import Fraction
        from reticent.privacy.loss import ApproxDP, PureDP, ZCDP

        PureDP(Fraction(1, 10))
        PureDP(0.1)  # error: incompatible type "float"; expected "Fraction"
        ApproxDP(Fraction(1), 1e-9)  # error: incompatible type "float"; expected "Fraction"
        ZCDP(0.5)  # error: incompatible type "float"; expected "Fraction"
        """,
    "a_forgotten_currency_is_found": """
        from typing import assert_never
        from reticent.privacy.loss import ApproxDP, Loss, PureDP

        def epsilon(loss: Loss) -> str:
            match loss:
                case PureDP(e) | ApproxDP(e, _):
                    return str(e)
                case _:
                    assert_never(loss)  # error: incompatible type "ZCDP |
        """,
    "a_step_of_propose_test_release_is_no_guarantee": """
        from fractions import Fraction
        from reticent.privacy import compose, ptr
        from reticent.privacy.adjacency import Adjacency

        step = ptr.declared(Fraction(1), Fraction(1, 10**6), Adjacency("substitute"))
        compose.in_sequence([step])  # error: has incompatible type "PtrStep"; expected "Guarantee"
        compose.in_sequence([ptr.cascade([[step]])])
        ptr.cascade([step])  # error: has incompatible type "PtrStep"; expected "Sequence[PtrStep]"
        """,
    "a_renyi_curve_is_no_budget": """
        from fractions import Fraction
        from reticent.privacy.loss import Counted, GaussianDP, PureDP

        budget: Counted = PureDP(Fraction(1))
        other: Counted = GaussianDP(Fraction(1))  # error: Incompatible types in assignment
        """,
    "a_loss_cannot_be_lowered_afterwards": """
        from fractions import Fraction
        from reticent.privacy.guarantee import Guarantee
        from reticent.privacy.loss import PureDP

        def lower(guarantee: Guarantee, loss: PureDP) -> None:
            loss.epsilon = Fraction(0)  # error: read-only
            guarantee.loss = loss  # error: read-only
        """,
    "adjacency_is_one_of_three_words": """
        from reticent.privacy.adjacency import Adjacency

        Adjacency("add_remove", rows=5)
        Adjacency("replace")  # error: incompatible type "Literal['replace']"
        Adjacency()  # error: Missing positional argument "kind"
        """,
    "sensitivity_is_exact_and_names_its_neighbours": """
        from fractions import Fraction
        from reticent.privacy.adjacency import Adjacency
        from reticent.privacy.sensitivity import L1

        L1(Fraction(1), Adjacency("substitute"))
        L1(1.0, Adjacency("substitute"))  # error: incompatible type "float"; expected "Fraction"
        L1(Fraction(1))  # error: Missing positional argument "adjacency"
        """,
    "a_guarantee_is_not_a_bare_number": """
        from fractions import Fraction
        from reticent.privacy.compose import in_sequence

        in_sequence([Fraction(1), Fraction(2)])  # error: has incompatible type "Fraction"; expected "Guarantee"
        """,
    "a_mechanism_takes_no_float": """
        from fractions import Fraction
        from reticent.entropy import Entropy
        from reticent.mechanisms.geometric import Geometric
        from reticent.privacy.adjacency import Adjacency
        from reticent.privacy.sensitivity import L1

        def noisy(entropy: Entropy) -> tuple[int, ...]:
            one = L1(Fraction(1), Adjacency("add_remove"))
            Geometric(one, 0.5)  # error: incompatible type "float"; expected "Fraction"
            mechanism = Geometric(one, Fraction(1, 2))
            mechanism.sample((17.5,), entropy)  # error: expected "Sequence[int]"
            return mechanism.sample((17,), entropy)
        """,
    "noise_is_drawn_from_entropy_only": """
        import random
        from reticent.mechanisms.geometric import Geometric

        def noisy(mechanism: Geometric) -> None:
            mechanism.sample((17,), random.Random(0))  # error: expected "Entropy"
            mechanism.sample((17,))  # error: Missing positional argument "entropy"
        """,
}


@pytest.mark.few(99)
@pytest.mark.parametrize("name", SNIPPETS)
def test_a_snippet_imports_what_there_is(name: str) -> None:
    lines = dedent(SNIPPETS[name]).splitlines()
    exec("\n".join(line for line in lines if line.startswith(("import ", "from "))), {})


@pytest.mark.wide
def test_mypy_finds_the_marked_errors_and_no_others() -> None:
    folder = ROOT / ".mypy_cache" / "snippets"  # always the same one: cached errors remember their paths
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {}
    for name, text in (SNIPPETS | {"range_count": CODE}).items():
        lines = dedent(text).strip("\n").splitlines()
        (folder / f"{name}.py").write_text("\n".join(lines).rstrip() + "\n")
        marks = {number: re.search(r"# error: (.*)", line) for number, line in enumerate(lines, start=1)}
        wanted.update({(name, number): mark[1] for number, mark in marks.items() if mark})

    found = mypy(folder)

    assert {place: text for place, text in found.items() if place not in wanted} == {}
    assert {place: text for place, text in wanted.items() if text not in found.get(place, "")} == {}


def mypy(folder: Path) -> dict[tuple[str, int], str]:
    """Snippet, line and message of every error; several on one line are joined."""
    options = ["--strict", "--no-error-summary", "--hide-error-context", "--no-color-output", "--config-file="]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            *options,
            "--cache-dir=cache",
            *(f"{name}.py" for name in sorted([*SNIPPETS, "range_count"])),
        ],
        cwd=folder,
        env={**os.environ, "MYPYPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    found: dict[tuple[str, int], str] = {}
    for path, number, message in re.findall(r"^(.*?)\.py:(\d+): error: (.*)$", done.stdout, flags=re.MULTILINE):
        if Path(path).parent != Path():
            continue  # errors of the package itself are for `make check` to report
        place = (Path(path).name, int(number))
        found[place] = f"{found[place]} | {message}" if place in found else message
    return found
