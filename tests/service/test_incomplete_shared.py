"""One share of incomplete rows for releases, fits and sessions of a snapshot, each with the event it is from."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest

import reticent as rt
from reticent.certificate.certificate import Certificate
from reticent.learning import GaussianNB, GridSearchCV, KMeans, LinearRegression, LogisticRegression, StandardScaler
from reticent.statistics.answer import IncompleteRows

if TYPE_CHECKING:
    from reticent.privacy.adjacency import Kind

N: Final = 4000
X: Final = np.random.default_rng(7).uniform(0, 1, N)
ROWS: Final[dict[str, Any]] = {
    "x": np.where(np.arange(N) % 5 == 0, np.nan, X),
    "z": X[::-1].copy(),
    "y": np.where(X > 0.5, "b", "a"),
}
COLUMNS: Final[dict[str, Any]] = {
    "x": rt.real(0, 1),
    "z": rt.real(0, 1, complete=True),
    "y": rt.category(["a", "b"]),
}


def study(path: Path | None, kind: Kind = "add_remove", rows: object = ROWS, **more: Any) -> rt.Study:
    told = {"columns": COLUMNS, "budget": 60, "override": "made-up rows", "snapshot": "2026-11", **more}
    return rt.study(rows, adjacency=kind, ledger=path, **told)


def released(of: rt.Study) -> tuple[IncompleteRows, Certificate]:
    made = of.release(["median(x) by y"], epsilon=4)
    share = made["median(x) by y"].incomplete
    assert share is not None
    return share, made.certificate


def fitted(of: rt.Study) -> tuple[IncompleteRows, Certificate]:
    x, y = of.xy(["x", "z"], "y")
    model: Any = LogisticRegression(epsilon=4).fit(x, y)
    (share,) = json.loads(model.certificate_.to_json())["model"]["incomplete"]
    told = IncompleteRows(tuple(share["columns"]), model.incomplete_rows_, share.get("from", ""), share["of"])
    return told, model.certificate_


def searched(of: rt.Study) -> tuple[IncompleteRows, Certificate]:
    x, y = of.xy(["x", "z"], "y")
    search: Any = GridSearchCV(LogisticRegression(), {"C": [1, 2]}, epsilon=4).fit(x, y)
    (share,) = json.loads(search.certificate_.to_json())["model"]["incomplete"]
    outcome = search.best_estimator_.incomplete_rows_
    return IncompleteRows(tuple(share["columns"]), outcome, share.get("from", ""), share["of"]), search.certificate_


def opened(of: rt.Study) -> tuple[IncompleteRows, Certificate]:
    with of.holdout(["x", "z"], epsilon=4, rounds=1, threshold="0.2") as session:
        share = session.incomplete
    assert share is not None
    return share, session.certificate


def median(of: rt.Study) -> tuple[IncompleteRows, Certificate]:
    made = of.release(["median(x)"], epsilon=4)
    share = made["median(x)"].incomplete
    assert share is not None
    return share, made.certificate


def clustered(of: rt.Study) -> tuple[IncompleteRows, Certificate]:
    model: Any = KMeans(n_clusters=2, epsilon=4).fit(of.xy(["x", "z"])[0])
    (share,) = json.loads(model.certificate_.to_json())["model"]["incomplete"]
    told = IncompleteRows(tuple(share["columns"]), model.incomplete_rows_, share.get("from", ""), share["of"])
    return told, model.certificate_


Way = Callable[[rt.Study], tuple[IncompleteRows, Certificate]]


@pytest.mark.loop(9)
@pytest.mark.parametrize("kind", ["add_remove", "substitute"])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (released, fitted),
        (released, searched),
        (fitted, released),
        (searched, fitted),
        (median, opened),
        (opened, median),
        (opened, opened),
        (median, clustered),
        (clustered, median),
    ],
)
def test_what_one_told_the_other_shows_at_no_charge(first: Way, second: Way, kind: Kind, tmp_path: Path) -> None:
    """Ten half-widths: the noise is beyond them with a probability below 1e-12."""
    path = tmp_path / "x.ledger"
    told, _ = first(study(path, kind))
    assert told.origin == ""
    assert isinstance(told.outcome, rt.Reply)
    assert abs(told.outcome.value.value - 0.2) < 10 * told.outcome.value.noise < 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shown, certificate = second(study(path, kind))  # another handle, as in another process
    if second is clustered and kind == "substitute":  # beside a public number of rows the one it buys tells the share
        assert shown.origin == ""
        assert isinstance(shown.outcome, rt.Reply)
        assert abs(shown.outcome.value.value - 0.2) < 10 * shown.outcome.value.noise < 0.5
        return
    assert (shown.columns, shown.outcome, shown.origin, shown.of) == (told.columns, told.outcome, "r-0001", told.of)
    assert certificate.document["study"]["snapshot"] == "2026-11"
    text = certificate.to_json()
    assert "told by r-0001 of this snapshot, not charged again" in text
    assert "incomplete rows" not in json.dumps(certificate.document["guarantee"])
    assert "incomplete(" not in json.dumps(certificate.document["guarantee"])
    verified = certificate.verify(ledger=path, allow_unsigned=True)
    assert verified.ok
    assert "shares of incomplete rows equal to those of r-0001" in verified.lines
    for name, other in (("value", 0.25), ("from", "r-0002"), ("of", "0" * 64)):
        found = Certificate.of(_changed(json.loads(text), name, other)).verify(ledger=path, allow_unsigned=True)
        assert "shares" in [check.name for check in found.checks if not check.ok]


def _changed(document: dict[str, Any], name: str, other: object) -> dict[str, Any]:
    """A certificate whose first share has another field."""
    parts = [document[part] for part in ("model", "session") if part in document]
    share = parts[0]["incomplete"][0] if parts else document["answers"][0]["incomplete"]
    assert name in share
    share[name] = other
    return document


def test_a_fit_that_shows_a_share_again_has_all_of_its_price(tmp_path: Path) -> None:
    path = tmp_path / "x.ledger"
    x, y = study(path).xy(["x"], "y")
    first, again = (LogisticRegression(epsilon=2).fit(x, y).guarantee_ for _ in range(2))
    assert first.loss == again.loss
    assert "incomplete rows" in first.label
    assert "incomplete rows" not in again.label


@pytest.mark.wide
@pytest.mark.parametrize("model", [GaussianNB(epsilon=4), StandardScaler(epsilon=4), LinearRegression(epsilon=4)])
def test_a_number_of_complete_rows_that_a_fit_buys_tells_a_share_for_others(model: Any, tmp_path: Path) -> None:
    path = tmp_path / "x.ledger"
    of = study(path, "substitute", columns={**COLUMNS, "y": rt.category(["a", "b"], complete=True)}, people=N)
    x, y = of.xy(["x"], "y")
    x, y = of.xy(["x"], "z") if isinstance(model, LinearRegression) else (x, y)
    model.fit(x, y)
    assert "incomplete rows" not in model.guarantee_.label  # free
    planned = of.plan(["median(x)"], epsilon=1)
    assert [line.name for line in planned.lines] == ["median(x)"]
    shown = of.release(["median(x)"], epsilon=1)["median(x)"].incomplete
    assert shown is not None
    assert (shown.outcome, shown.origin) == (model.incomplete_rows_, "r-0001")


@pytest.mark.wide
def test_a_share_of_other_rows_than_those_that_lack_a_cell_is_not_shared(tmp_path: Path) -> None:
    """Rows of a class that is not searched for, and labels beyond the declared bounds, lack nothing in a release."""
    path = tmp_path / "x.ledger"
    columns = {**COLUMNS, "y": rt.category(["a", "b", "c"]), "k": rt.integer(0, 1)}
    of = study(path, rows={**ROWS, "k": np.where(X > 0.5, 1, 7)}, columns=columns)
    of.release(["incomplete(x, y)", "incomplete(x, k)"], epsilon=4)
    for target, classes in (("y", ["a", "b"]), ("k", None)):
        x, y = of.xy(["x"], target)
        model: Any = LogisticRegression(epsilon=4, classes=classes).fit(x, y)
        assert "incomplete" not in json.loads(model.certificate_.to_json())["model"]
        assert "incomplete rows" in model.guarantee_.label


@pytest.mark.wide
def test_a_value_that_stands_in_lacks_nothing_in_a_fit(tmp_path: Path) -> None:
    path = tmp_path / "x.ledger"
    of = study(path, columns={**COLUMNS, "x": rt.real(0, 1, missing="0.5")})
    of.release(["incomplete(y)"], epsilon=1)
    x, y = of.xy(["x"], "y")
    model: Any = LogisticRegression(epsilon=4).fit(x, y)
    (share,) = json.loads(model.certificate_.to_json())["model"]["incomplete"]
    assert (share["columns"], share["from"]) == (["y"], "r-0001")


@pytest.mark.wide
def test_a_session_shows_the_share_of_columns_that_it_does_not_tell(tmp_path: Path) -> None:
    path = tmp_path / "x.ledger"
    of = study(path, "substitute", columns={**COLUMNS, "x": rt.real(0, 1, missing="0.5")})
    with pytest.warns(UserWarning, match="does not tell how many rows"):
        of.holdout(["x"], epsilon=1, rounds=1, threshold="0.2").close()
    told = of.release(["incomplete(x)"], epsilon=1)["incomplete(x)"].outcome
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with of.holdout(["x"], epsilon=1, rounds=1, threshold="0.2") as session:
            pass
    (share,) = json.loads(session.certificate.to_json())["session"]["incomplete"]
    assert isinstance(told, rt.Reply)
    assert (share["from"], share["value"]) == ("r-0002", told.value.value)
    assert session.certificate.verify(ledger=path, allow_unsigned=True).ok


@pytest.mark.wide
def test_a_session_with_a_share_told_draws_one_number_with_less_noise(tmp_path: Path) -> None:
    """Two numbers move twice as far as one where persons of several rows are replaced."""
    path = tmp_path / "x.ledger"
    rows = {**ROWS, "who": [f"p{place // 2}" for place in range(N)]}
    of = study(path, "substitute", rows=rows, person="who", rows_each=2)
    sizes = []
    for _ in range(2):
        with of.holdout(["x"], epsilon=4, rounds=1, threshold="0.2") as session:
            pass
        sizes.append(session.certificate.document["session"]["rows"]["noise"])
    assert 1.8 < sizes[0] / sizes[1] < 2.2


@pytest.mark.wide
def test_without_a_word_nothing_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "x.ledger"
    for _ in range(2):
        for way in (median, opened):
            share, _ = way(study(path, snapshot=""))
            assert (share.origin, share.of) == ("", "")


@pytest.mark.wide
def test_two_files_of_one_name_have_shares_of_their_own(tmp_path: Path) -> None:
    """A ledger that names no source counts for both: their people share its budget, and their rows are other rows."""
    path = tmp_path / "x.ledger"
    study(path, snapshot="").release(["count"], epsilon=1)
    files = [tmp_path / folder / "t.csv" for folder in ("a", "b")]
    for odd, file in enumerate(files):
        file.parent.mkdir()
        cells = [("" if place % 10 < 5 * odd else "0.5") for place in range(N)]
        file.write_text("\n".join(["x,z,y", *(f"{cell},0.5,a" for cell in cells)]) + "\n", encoding="utf-8")
    one, other, again = (median(study(path, rows=str(file)))[0] for file in (*files, files[1]))
    assert one.origin == other.origin == ""
    assert one.of != other.of
    assert isinstance(other.outcome, rt.Reply)
    assert other.outcome.value.value > 0.4
    assert again == IncompleteRows(other.columns, other.outcome, "r-0003", other.of)


@pytest.mark.parametrize("kind", ["add_remove", "substitute"])
def test_a_share_of_a_session_that_did_not_come_to_an_end_is_paid_and_bought_again(kind: Kind, tmp_path: Path) -> None:
    """Its reservation is not given back, so what it told is counted, though the ledger does not keep the share."""
    path = tmp_path / "x.ledger"
    session = study(path, kind).holdout(["x", "z"], epsilon=4, rounds=1, threshold="0.2")
    assert session.incomplete is not None
    after = study(path, kind)  # as another process would find it
    assert median(after)[0].origin == ""
    assert [line.state == "committed" for line in after.ledger.releases()] == [False, True]
    assert after.ledger.spent().epsilon == 8  # type: ignore[union-attr]
    session.close()
