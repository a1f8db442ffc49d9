"""Densities by the path of a release: charged once, certified, refused before rows are read, audited, drawn from."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import reticent as rt
from reticent.conformance import plan_audit as audits
from reticent.conformance.replay import replay
from reticent.data.query import Tally
from reticent.data.schema import Column
from reticent.data.table import open_table
from reticent.errors import BudgetError, Fault, NoReplyError, PublicParameterError, QuestionError, Refusal
from reticent.ledger import Ledger
from reticent.privacy.adjacency import Kind
from reticent.statistics.density import DensityOf
from reticent.study.study import Study
from reticent.synthesis import mixed_columns
from reticent.synthesis.density import from_json
from reticent.synthesis.linear_queries import LinearSums
from reticent.synthesis.partition import PartitionDensity
from tests.support.densities import density_of

METHODS = ("auto", "histogram", "adaptive", "sparse", "tree", "ks", "series", "kernel", "bernstein")
COLUMNS: dict[str, Column] = {
    "x": rt.real(0, 100),
    "age": rt.integer(0, 99),
    "wild": rt.real(),
    "town": rt.category(["a", "b"]),
}


def rows(n: int = 4_000) -> dict[str, np.ndarray[tuple[int], np.dtype[np.float64]]]:
    generator = np.random.default_rng(3)
    x = 100 * generator.beta(2, 5, n)
    x[: n // 4] = 0.0
    x[n // 2 : n // 2 + n // 10] = np.nan
    return {"x": x, "age": generator.integers(18, 90, n).astype(float), "wild": x, "town": x}


def clinic(
    table: object = None, *, adjacency: Kind = "add_remove", budget: str = "8", people: int | None = None
) -> Study:
    return rt.study(
        rows() if table is None else table, adjacency=adjacency, columns=COLUMNS, budget=budget, people=people
    )


def spent(study: Study) -> Fraction:
    loss = study.ledger.spent()
    assert isinstance(loss, rt.PureDP)
    return loss.epsilon


def one(values: list[float]) -> Study:
    return clinic({name: np.array(values) for name in COLUMNS})


@pytest.mark.wide
@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_charged_once_certified_and_drawn_from(method: str, tmp_path: Path) -> None:
    study = clinic()
    made = study.release([rt.density("age", method=method)], epsilon=1)  # type: ignore[arg-type]  # of METHODS
    assert spent(study) == 1
    found = density_of(made)
    assert abs(found.masses.sum() - 1) < 1e-9
    assert made.certificate.verify(ledger=study.ledger, allow_unsigned=True).ok
    again = rt.read_certificate(made.certificate.to_json()).answers[0].law
    assert again == found
    assert from_json(found.to_json()) == found
    assert found.sample(50).shape == (50,)
    assert spent(study) == 1  # drawing is free
    wanted = (".cells.csv", ".json", ".html", ".svg")
    files = {path.suffix: path.read_text("utf-8") for path in made.save(tmp_path / "age", files=wanted)}
    assert (tmp_path / "age.cells.csv").exists()
    assert files[".csv"].splitlines()[0] == "age low,age high,mass,noise,density"
    assert "<svg" in files[".html"]
    assert "density(age" in files[".svg"]


def test_a_density_stands_in_a_list_of_questions_and_in_text() -> None:
    study = clinic()
    made = study.release([rt.count(), "density(x, method=series)"], epsilon=1)
    assert made.keys() == ("count", "density(x, method=series)")
    shares = [cell.outcome for cell in made["density(x, method=series)"]]
    assert len(shares) == 10
    total = sum(share.value.value for share in shares if isinstance(share, rt.Reply))
    assert abs(total - 1) < 0.01
    assert spent(study) == 1


def test_made_up_rows_are_a_table_of_the_kinds_declared(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    made = clinic().synthesize(rt.density(["x", "age"], method="histogram"), epsilon=2, rows=300)
    table = pq.read_table(made.to_parquet(tmp_path / "rows.parquet"))
    assert {name: str(kind) for name, kind in zip(table.schema.names, table.schema.types, strict=True)} == {
        "x": "double",
        "age": "int64",
    }
    assert table.num_rows == len(made) == 300
    text = made.to_csv(tmp_path / "rows.csv").read_text("utf-8").splitlines()
    assert (text[0], len(text)) == ("x,age", 301)
    assert any(line.startswith("not for") for line in made.good_for())


@pytest.mark.wide
def test_atoms_and_missing_values_come_out_with_their_shares() -> None:
    for method in ("auto", "series", "histogram"):
        made = clinic().release([rt.density("x", method=method, atoms=[0, "missing"])], epsilon=2)
        found = density_of(made)
        ((value, mass),) = found.atoms
        assert value == 0.0
        assert abs(mass - 1000 / 3600) < 0.01
        assert found.missing is not None
        assert abs(found.missing - 0.1) < 0.01
        drawn = made.synthetic(rows=2000)
        assert abs(np.mean(drawn._rows[:, 0] == 0) - 0.9 * mass) < 0.06


@pytest.mark.wide
@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (rt.density("wild"), "needs a range known without looking"),
        (rt.density("town"), "is a category"),
        (rt.density("nobody"), "no column 'nobody'"),
        (rt.density("x", method="bernstein", detail=rt.Detail(degree=200)), "degree 200"),
        (rt.density(["x", "age"], method="ks"), "one column"),
        (rt.density("x", method="series", detail=rt.Detail(degree=600)), "600 coefficients"),
        (rt.density(["x", "age"], method="series", detail=rt.Detail(cells=3000)), r"9,000,000 cells, about 450 MB"),
        (rt.density("age", method="kernel", detail=rt.Detail(bandwidth="1/1000")), "finer than"),
        (rt.density("x", method="histogram", detail=rt.Detail(degree=3)), "no use in method=histogram"),
    ],
)
def test_what_cannot_be_released_is_refused_before_rows_and_costs_nothing(asked: DensityOf, said: str) -> None:
    study = clinic()
    with pytest.raises(Refusal, match=said):
        study.release([asked], epsilon=1)
    assert spent(study) == 0


@pytest.mark.wide
@pytest.mark.parametrize("method", METHODS)
def test_bias_is_said_to_be_in_no_interval_unless_there_is_none(method: str) -> None:
    """Of 30 % at one value a smooth law shows next to nothing, and its intervals are as narrow as ever."""
    study, said = clinic(), "not for what is smoothed away"
    made = study.release([rt.density("x", method=method)], epsilon=2)  # type: ignore[arg-type]  # the methods there are
    assert any(said in caveat for caveat in made.certificate.caveats)
    if method == "histogram":
        exact = study.release([rt.density("age", method=method, detail=rt.Detail(cells=100))], epsilon=2)  # type: ignore[arg-type]
        assert not any(said in caveat for caveat in exact.certificate.caveats)


@pytest.mark.wide
def test_the_share_of_an_atom_beside_a_polynomial_is_within_its_noise() -> None:
    """Records heaped near 0, where the polynomial's own total is off by percents; six half-widths hold but for 1e-9."""
    values = np.concatenate([np.zeros(5_000), np.random.default_rng(4).gamma(1.0, 2.0, 15_000)])
    study = rt.study({"x": values}, adjacency="add_remove", columns={"x": rt.real(0, 100)}, budget="8")
    found = density_of(study.release([rt.density("x", method="bernstein", atoms=[0])], epsilon=4))
    assert found.beside is not None
    ((_, mass),) = found.atoms
    assert abs(mass - 0.25) < 6 * found.beside
    assert 6 * found.beside < 0.003
    assert abs(found.n - 20_000) < 150


@pytest.mark.wide
def test_a_budget_too_small_is_refused_and_costs_nothing() -> None:
    study = clinic(budget="1/2")
    with pytest.raises(BudgetError):
        study.release([rt.density("x")], epsilon=1)
    assert spent(study) == 0


@pytest.mark.wide
def test_an_epsilon_that_leaves_nothing_but_the_uniform_is_refused_with_what_would_do() -> None:
    study = clinic(people=4_000)
    with pytest.raises(QuestionError, match=r"the noise hides every shape.*About ε .* would show something"):
        study.release([rt.density("x", method="series")], epsilon="0.001")
    assert spent(study) == 0
    unsaid = clinic()  # nobody said how many there are: the plan tells, and it may be bought
    assert "hides every shape" in repr(unsaid.plan(["density(x, method=series)"], epsilon="0.001", people=4_000))


@pytest.mark.wide
def test_one_fault_is_charged_and_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> object:
        raise ZeroDivisionError("age 37 was seen")

    monkeypatch.setattr(LinearSums, "draw", broken)
    study = clinic()
    with pytest.raises(Fault) as caught:
        study.release([rt.density("age", method="series")], epsilon=1)
    assert "37" not in str(caught.value)
    assert caught.value.__context__ is None
    assert spent(study) == 1


@pytest.mark.wide
def test_rows_beyond_those_of_the_people_are_said_to_look_surer_and_are_no_default() -> None:
    """The noisy number of records may be more than 30 people can have; more are made where they are asked for."""
    few = {name: values[:30] for name, values in rows().items()}
    for _ in range(8):
        made = clinic(few, people=30).release([rt.density("x", method="histogram")], epsilon="1/2")
        assert len(made.synthetic()) <= 30
    more = made.synthetic(rows=31)
    assert repr(more).startswith("<31 made-up rows of x; ")
    assert "; there are at most 30 records: an analysis of more rows looks surer" in repr(more)
    assert "at most 30 records" in more.good_for()[0]
    assert "at most" not in repr(made.synthetic(rows=30)).split(":")[0]
    private = clinic(few).release([rt.density("x", method="histogram")], epsilon="1/2").synthetic(rows=99)
    assert "records" not in repr(private)


def test_rows_are_drawn_from_the_density_that_is_named() -> None:
    made = clinic().release([rt.density("x", method="histogram"), rt.density("age", method="histogram")], epsilon=2)
    rows = made.synthetic("density(age, method=histogram)", rows=7)
    assert (len(rows), rows.columns) == (7, ("age",))
    assert rows.certificate.digest == made.certificate.digest
    assert "7 made-up rows of age" in repr(rows)
    with pytest.raises(QuestionError, match=r"Name the density .* this release has 2\."):
        made.synthetic()
    with pytest.raises(QuestionError, match=r"count is no density: rt\.density\(…\) asks for one"):
        clinic().release([rt.count()], epsilon=1).synthetic("count")
    with pytest.raises(PublicParameterError, match="one density; this one has 2"):
        made.save("unwritten", files=(".cells.csv",))


@pytest.mark.loop(5)
@pytest.mark.wide
@pytest.mark.parametrize("method", METHODS)
def test_an_empty_table_one_value_and_no_numbers_end_in_a_reply_or_none_and_in_nothing_else(method: str) -> None:
    tables = [[], [50.0] * 300, [float("nan")] * 20, [float("inf"), -float("inf"), 5.0] * 50, [1e9] * 200]
    for values in tables:
        study = one(values)
        made = study.release([rt.density("x", method=method)], epsilon=1)  # type: ignore[arg-type]
        assert spent(study) == 1
        if made.replied:
            assert np.isfinite(density_of(made).masses).all()
        else:
            assert made.answers[0].law is None
            with pytest.raises(NoReplyError, match="no density"):
                made.synthetic(rows=1)


@pytest.mark.wide
def test_bounds_that_exclude_every_value_say_nothing_of_the_rows() -> None:
    here, there = one([1e9] * 400), one([100.0] * 400)
    said = [study.release([rt.density("x", method="histogram")], epsilon=4) for study in (here, there)]
    own = [
        [text for text in made.certificate.caveats if "readable" not in text] for made in said
    ]  # without the noisy share
    assert own[0][0] == own[1][0]
    assert any("outside [0, 100] count as the nearer bound" in text for text in said[0].certificate.caveats)
    assert all(density_of(made).masses.ravel()[-1] > 0.8 for made in said)


@pytest.mark.wide
@pytest.mark.parametrize("bound", ["4/5", "99.9", "0.3"])
def test_many_values_at_a_bound_that_is_no_double_are_rows_there(bound: str) -> None:
    """The float of the atom lay beside the bound: two edges were one double, a fault after the charge."""
    draw = np.random.default_rng(0)
    most = float(Fraction(bound))
    held = {
        "a": draw.uniform(0, 100, 2_000),
        "b": np.where(draw.random(2_000) < 0.3, most, draw.uniform(0, most, 2_000)),
    }
    columns = {"a": rt.real(0, 100), "b": rt.real(0, bound)}
    study = rt.study(held, adjacency="add_remove", columns=columns, budget=4)
    made = study.synthesize(["a", "b"], epsilon=4)._rows
    assert 0.2 < float((made[:, 1] == most).mean()) < 0.4


def test_all_rows_on_an_atom_leave_nothing_for_the_rest() -> None:
    made = one([0.0] * 2_000).release([rt.density("x", method="series", atoms=[0])], epsilon=2)
    ((_, mass),) = density_of(made).atoms
    assert mass > 0.97


@pytest.mark.wide
@pytest.mark.loop(5)
@pytest.mark.parametrize("adjacency", ["add_remove", "substitute"])
@pytest.mark.parametrize(
    "text",
    [
        "density(x)",
        "density(age, method=series, degree=3, cells=32)",
        "density(x, method=kernel, atoms=0 missing, cells=32)",
        "density(x, age, method=histogram, cells=4)",
        "density(x, method=adaptive, cells=8, atoms=0 missing)",
        "density(x, method=sparse, cells=8, atoms=0 missing)",
        "density(x, age, method=adaptive, cells=4, checks=0.2)",
        "density(x, atoms=auto missing)",
        "density(x, age)",
    ],
)
def test_record_replay_passes_on_densities(text: str, adjacency: Kind) -> None:
    found = clinic(adjacency=adjacency, people=None).audit([text], epsilon=1, triples=6)
    assert found.verdict == "passed", found.words
    assert found.ratio is not None
    assert found.ratio > Fraction(1, 2)


@pytest.mark.wide
def test_record_replay_catches_noise_made_for_half_the_distance(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = LinearSums.__dict__["moved"].func
    made = property(lambda self: -(-whole(self) // 2))
    monkeypatch.setattr(LinearSums, "moved", made)
    found = clinic().audit(["density(age, method=series, degree=3, cells=32)"], epsilon=1, triples=20)
    assert found.verdict == "refuted"
    assert any(one.kind in ("sensitivity", "loss") for one in found.findings)


@pytest.mark.wide
def test_record_replay_catches_atoms_that_are_counted_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    parted = mixed_columns.MixtureDensity._parted

    def twice(self: mixed_columns.MixtureDensity, results: object) -> object:
        exact, rest = parted(self, results)  # type: ignore[arg-type]
        (query,) = self.plan.queries
        assert isinstance(query, Tally)
        counts = list(rest.vectors[0])
        counts[0] += exact[0]  # the rows of the atom stay in the rest as well
        return exact, type(rest)(vectors=(tuple(counts),))

    monkeypatch.setattr(mixed_columns.MixtureDensity, "_parted", twice)
    found = clinic().audit(["density(x, method=kernel, atoms=0, cells=32)"], epsilon=1, triples=160)
    assert found.verdict == "refuted"


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize("text", ["density(x, age)", "density(x)"])
def test_record_replay_catches_records_at_a_found_atom_that_stay_in_their_bar(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On tables large enough that atoms are sought: those of a plan's audit are small."""
    study = clinic()
    plan = study.plan([text], epsilon=4).prepared_for(study.schema)
    whole = rows(3_000)
    here, there = (open_table({name: column[cut:] for name, column in whole.items()}, study.schema) for cut in (0, 1))
    assert replay(plan, here, there).ok
    right = PartitionDensity._parted

    def twice(self: PartitionDensity, *given: object) -> object:
        rest, parts, absent = right(self, *given)  # type: ignore[arg-type]
        rest[0] += sum(parts)
        return rest, parts, absent

    monkeypatch.setattr(PartitionDensity, "_parted", twice)
    assert not replay(plan, here, there).ok


@pytest.mark.wide
def test_rows_have_the_zeros_of_the_records_by_default_and_what_they_are_good_for_says_so() -> None:
    """The column that issue 15 was written about: 30 % zeros, in one column and beside another."""
    draw = np.random.default_rng(11)
    cost = np.where(draw.random(6_000) < 0.3, 0.0, draw.gamma(2.0, 60.0, 6_000).clip(0, 599))
    table = {"age": draw.integers(18, 90, 6_000), "cost": cost}
    columns: dict[str, Column] = {"age": rt.integer(0, 99), "cost": rt.real(0, 600)}
    study = rt.study(table, adjacency="add_remove", columns=columns, budget=8)
    for asked in (["age", "cost"], ["cost"]):
        made = study.synthesize(asked, epsilon=1)
        rows = np.array(made.frame().column("cost"))  # type: ignore[attr-defined]
        assert float(np.mean(rows == 0.0)) == pytest.approx(0.3, abs=0.03)
        (line,) = [one for one in made.good_for() if "single values of cost" in one]
        assert line.startswith("single values of cost: one that at least ")
        assert "% (its bounds 0 and 600, where values beyond count too)" in line
        assert not any("not the table of cost" in one for one in made.good_for())
        assert made.density.to_json() == from_json(made.density.to_json()).to_json()
    for question in (rt.density("cost", atoms="none", checks="0.1"), rt.density("cost", method="series", checks="0.1")):
        made = study.synthesize(question, epsilon=1)
        said = made.good_for()
        assert any(one.startswith("not the table of cost") for one in said)  # the check sees the zeros
        assert any(one.startswith("not single values of cost") for one in said)


@pytest.mark.wide
def test_the_audit_is_the_one_that_a_release_can_ask_for() -> None:
    made = clinic().release([rt.density("age", method="series")], epsilon=1, record=rt.Record(audit=3))
    assert made.certificate.document["audit"]["verdict"] == "passed"
    assert audits.QUICK > 3
    assert isinstance(clinic().ledger, Ledger)
