"""The commands of the README, run on the README's own study file and a table made up for it."""

from __future__ import annotations

import random
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from reticent.cli.app import app
from reticent.cli.exit_codes import REFUSED

TEXT = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
(STUDY,) = (block for block in re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL) if 'source = "visits.csv"' in block)
LINES = [line.partition(" #")[0].strip() for line in re.findall(r"^    reticent (.*)$", TEXT, re.MULTILINE)]
COMMANDS = [line for line in LINES if re.search(r"visits\.(toml|csv)|table1|^registry", line)]
BY_NAME = re.findall(r"`((?:scale|median|trimmed_mean)\(cost[^`]*)`", TEXT)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the study file of the README and 8,000 made-up visits of 2,000 patients."""
    draw = random.Random(1)
    rows = [
        (n // 4, draw.randint(18, 95), draw.expovariate(0.001), draw.choice(("north", "south"))) for n in range(8_000)
    ]
    lines = ["patient,age,cost,ward", *(f"{who},{age},{cost:.2f},{ward}" for who, age, cost, ward in rows)]
    (tmp_path / "visits.csv").write_text("\n".join(lines) + "\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


def ran(line: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, shlex.split(line))
    return done.exit_code, f"{line}: {done.output}"


@pytest.mark.wide
def test_every_command_of_the_readme_is_accepted(folder: Path) -> None:
    assert len(COMMANDS) > 8
    for line in sorted(COMMANDS, key=lambda command: not command.startswith("init")):  # a study file comes first
        code, said = ran(line)
        assert code in (0, 3), said  # 3: a quantile may give no reply
        if line.startswith("init"):
            (folder / "visits.toml").write_text(STUDY, "utf-8")


def test_the_algorithms_that_need_a_delta_are_planned_with_one(folder: Path) -> None:
    (folder / "visits.toml").write_text(STUDY.replace('epsilon = "3" ', 'epsilon = "3"\ndelta = "1e-6"\n'), "utf-8")
    assert len(BY_NAME) == 3
    for text in BY_NAME:
        code, said = ran(f'plan visits.toml --ask "{text}" --epsilon 1 --delta 1e-6 --people 50000')
        assert code == 0, said
        code, said = ran(f'plan visits.toml --ask "{text}" --epsilon 1 --people 50000')
        assert code == REFUSED, said
        assert "δ" in said or "delta" in said
