"""Pictures of the documentation are drawn as the package draws now, from the certificates of their runs."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from reticent.certificate.certificate import Certificate
from reticent.certificate.render.figure import svg
from reticent.cli import layout

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "docs" / "_static"
KEPT = sorted((STATIC / "certificates").glob("*.json"))
AGAIN = "python docs/pictures.py again"


@pytest.mark.parametrize("kept", KEPT, ids=lambda kept: kept.stem)
def test_a_figure_is_drawn_as_the_package_draws_it_now(kept: Path) -> None:
    drawn = (STATIC / f"{kept.stem}.svg").read_text("utf-8")
    assert svg(Certificate(kept.read_text("utf-8"))) == drawn, AGAIN


def test_every_figure_of_a_release_has_its_certificate() -> None:
    text = (ROOT / "docs" / "pictures.py").read_text("utf-8")
    names = re.findall(r'release\(.*folder, "(\w+)"\)', text)
    assert sorted([*names, "demo"]) == [kept.stem for kept in KEPT]


def test_the_demonstration_is_kept_as_it_is_printed_now() -> None:
    """Where this fails: ``make pictures ONLY=demo``, which takes the README along."""
    made = Certificate((STATIC / "certificates" / "demo.json").read_text("utf-8"))
    kept = (STATIC / "demo.txt").read_text("utf-8").splitlines()
    truth = re.compile(r" {2,}[\d,.]+$")  # the last column, which no certificate has
    rows = {
        re.sub(" +", " ", truth.sub("", line) if "no reply" not in line else line.split("  no reply")[0])
        for line in kept
    }
    (heads,) = [line for line in kept if line.startswith("statistic ")]
    head = re.sub(" +", " ", heads.removesuffix("truth")).rstrip()
    for line in layout.answers(made.answers).lines(4000, styled=False):
        shown = re.sub(" +", " ", line.split("  no reply")[0])
        assert shown in rows or shown == head
    found = re.findall(r"([\d,.]+) to ([\d,.]+)\s.* ([\d,.]+)$", "\n".join(kept), flags=re.MULTILINE)
    ends = [[float(number.replace(",", "")) for number in one] for one in found]
    assert len(ends) == 18
    assert all(low <= true <= high for low, high, true in ends)  # the README says so: else another run
    text = " ".join(" ".join(kept).split())
    for told in (*made.caveats, layout.ASK_WHY, *made.explain(prior=0.1).split("\n")):
        assert " ".join(told.split()) in text


def test_the_chance_of_a_key_is_drawn_as_keys_are_listed_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where this fails: ``make pictures ONLY=found_groups``."""
    told = importlib.util.spec_from_file_location("pictures", ROOT / "docs" / "pictures.py")
    assert told is not None
    assert told.loader is not None
    pictures = importlib.util.module_from_spec(told)
    told.loader.exec_module(pictures)
    monkeypatch.setattr(pictures, "STATIC", tmp_path)
    pictures.found_groups(tmp_path)
    assert (tmp_path / "found_groups.svg").read_text("utf-8") == (STATIC / "found_groups.svg").read_text("utf-8")
