"""``reticent compare``: answers of a saved release compared by the verb are those that Python compares."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import reticent as rt
from reticent.certificate.record import answer_to_json
from reticent.study.release import Release
from tests.support.cli_kit import run

BY = "mean(x) by s"


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Release, str]:
    study = rt.study(
        {"x": [place % 10 for place in range(3000)], "s": [place % 3 for place in range(3000)]},
        adjacency="add_remove",
        columns={"x": rt.integer(0, 9), "s": rt.category([0, 1, 2], constant=True)},
        budget="9",
    )
    release = study.release([rt.mean("x").by("s"), rt.count(), rt.sum("x")], epsilon=6)
    (path,) = release.save(tmp_path_factory.mktemp("saved") / "one", files=[".json"])
    return release, str(path)


def test_the_verb_says_what_python_says(saved: tuple[Release, str]) -> None:
    release, file = saved
    pairs = f"difference({BY} · 0, {BY} · 2)", "ratio(sum(x), count)", f"total({BY})"
    found = run("compare", file, *pairs, "--json")
    expected = [release.difference("0", "2", of=BY), release.ratio("sum(x)", "count"), release.total(of=BY)]
    assert found.code == 0
    assert found.document["answers"] == [answer_to_json(answer) for answer in expected]
    assert found.document["release"] == release.receipt
    assert "discoveries" not in found.document


def test_keys_are_enough_with_of(saved: tuple[Release, str]) -> None:
    release, file = saved
    found = run("compare", file, "--of", BY, "difference(0, 2)", "total(0, 1)", "--json").document["answers"]
    expected = release.difference("0", "2", of=BY), release.total(["0", "1"], of=BY)
    assert found == [answer_to_json(answer) for answer in expected]
    told = run("compare", file, "--of", BY, "difference(0, 2)").out
    assert f"difference({BY} · 0, {BY} · 2)" in told
    assert "guarantee" in told


def test_intervals_that_hold_together_are_wider(saved: tuple[Release, str]) -> None:
    release, file = saved
    found = run("compare", file, "--of", BY, "--together", "--json").document["answers"]
    assert found == [answer_to_json(answer) for answer in release.simultaneous([BY])]
    named = run("compare", file, "--of", BY, "--discoveries", "--null", "0.5", "--json").document["discoveries"]
    assert named == list(release.discoveries([BY], null=0.5)) == [f"{BY} · {key}" for key in (0, 1, 2)]
    assert "differ" in run("compare", file, "--of", BY, "--discoveries", "--null", "0.5").out


def test_all_answers_together_leave_out_those_that_cannot_hold_and_say_so(tmp_path: Path) -> None:
    study = rt.study(
        {"x": [place % 10 for place in range(3000)], "s": [place % 3 for place in range(3000)]},
        adjacency="add_remove",
        columns={"x": rt.integer(0, 9, complete=True), "s": rt.category([0, 1, 2], complete=True)},
        budget="9",
    )
    release = study.release(["count", "median(x)", "test(x ~ s)"], epsilon=9)
    (path,) = release.save(tmp_path / "one", files=[".json"])
    found = run("compare", str(path), "--together", "--json").document
    assert [answer["name"] for answer in found["answers"]] == ["count"]
    assert "left out, as an interval is known at 95 % alone: median(x), test(x ~ s)" in found["caveats"]
    tests = run("compare", str(path), "--discoveries", "--json").document
    assert [answer["name"] for answer in tests["answers"]] == ["test(x ~ s)"]


def test_a_comparison_without_a_reply_is_code_three(saved: tuple[Release, str]) -> None:
    document = json.loads(Path(saved[1]).read_text("utf-8"))
    (counted,) = [answer for answer in document["answers"] if answer["name"] == "count"]
    counted["cells"] = [{"label": [], "outcome": "no_reply"}]
    file = Path(saved[1]).with_name("declined.json")
    file.write_text(json.dumps(document), "utf-8")
    found = run("compare", str(file), "ratio(sum(x), count)")
    assert found.code == 3
    assert "no reply" in found.out
    assert run("compare", str(file), f"total({BY})").code == 0


def test_what_cannot_be_compared_is_refused(saved: tuple[Release, str], tmp_path: Path) -> None:
    _, file = saved
    assert "has no answer 'median(x)'" in run("compare", file, "difference(median(x), count)").err
    assert "of two answers, got 3" in run("compare", file, "difference(count, sum(x), count)").err
    assert "Say what to compare" in run("compare", file).err
    assert run("compare", file, "count", "--null", "1").code == 2
    assert run("compare", str(tmp_path / "none.json"), "count").code == 6
