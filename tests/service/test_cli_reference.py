"""The reference of the command line says what the program says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from reticent.cli import glossary
from reticent.cli.app import FILES, GROUPS, Commands
from tests.support.cli_kit import run
from tests.support.cli_reference import PAGE, VERBS, renewed


@pytest.mark.wide
def test_the_reference_is_current() -> None:
    page = PAGE.read_text("utf-8")
    assert renewed(page) == page, "run: python -m tests.support.cli_reference"


def test_every_verb_is_in_the_reference() -> None:
    assert set(FILES) == {verb for verb in VERBS if " " not in verb}
    grouped = [f"{group} {verb}" for group, (_, verbs) in GROUPS.items() for verb in verbs]
    assert grouped == [verb for verb in VERBS if " " in verb]
    made = Commands()
    assert {name: made[name].name for name in made} == {name: name for name in (*FILES, *GROUPS)}


@pytest.mark.wide
def test_help_is_short() -> None:
    for verb in VERBS:
        text = run(*verb.split(), "--help").out
        assert len(text.splitlines()) <= 40, verb
        assert all(len(line) <= 80 for line in text.splitlines()), verb


@pytest.mark.wide
def test_exit_codes_are_the_same_in_the_page_and_in_explain() -> None:
    page = re.findall(r"^\| (\d+) \| ", PAGE.read_text("utf-8"), re.MULTILINE)
    told = [line.split()[0] for line in glossary.TEXTS["exit-codes"].split("\n") if line.strip()]
    assert page == told


@pytest.mark.wide
def test_every_synonym_leads_to_a_text() -> None:
    assert set(glossary.SAME.values()) <= set(glossary.TEXTS)
    assert set(glossary.SAME).isdisjoint(glossary.TEXTS)


@pytest.mark.wide
def test_the_shell_completes_verbs() -> None:
    asked = {"_RETICENT_COMPLETE": "complete_bash", "COMP_WORDS": "reticent ledger s", "COMP_CWORD": "2"}
    program = Path(sys.executable).with_name("reticent")
    done = subprocess.run(
        [program], env={**os.environ, **asked}, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == ["show"]
