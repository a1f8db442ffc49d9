"""The reference of the command line says what the program says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import fields
from inspect import signature
from pathlib import Path

import click
import pytest

from reticent.cli import glossary
from reticent.cli.app import GROUPS, VERBS, app
from reticent.cli.options import PublicGuess, Request
from reticent.cli.parser import AT_LEAST_ONE, NUMBER, PATH, STEM, ListedVerb
from tests.support.cli_kit import run
from tests.support.cli_reference import PAGE, renewed
from tests.support.cli_reference import VERBS as NAMED


@pytest.mark.wide
def test_the_reference_is_current() -> None:
    page = PAGE.read_text("utf-8")
    assert renewed(page) == page, "run: python -m tests.support.cli_reference"


def listed(verb: str) -> ListedVerb:
    """A verb as its group lists it."""
    found: click.Command = app
    for word in verb.split():
        assert isinstance(found, click.Group)
        found = found.commands[word]
    assert isinstance(found, ListedVerb)
    return found


def test_every_verb_is_in_the_reference() -> None:
    assert set(VERBS) == {verb for verb in NAMED if " " not in verb}
    grouped = [f"{group} {verb}" for group, (_, verbs) in GROUPS.items() for verb in verbs]
    assert grouped == [verb for verb in NAMED if " " in verb]
    assert [listed(verb).command().name for verb in NAMED] == [verb.split()[-1] for verb in NAMED]


def test_a_group_says_of_a_verb_the_first_sentence_of_its_help() -> None:
    whole = 1000
    for verb in NAMED:
        assert listed(verb).help == listed(verb).command().get_short_help_str(whole), verb


def test_the_help_of_a_group_and_its_completion_load_no_verb() -> None:
    program = (
        "import sys\n"
        "from reticent.cli.app import GROUPS, VERBS, app\n"
        "from click.shell_completion import ShellComplete\n"
        "for words in ([], *([group] for group in GROUPS)):\n"
        "    offered = ShellComplete(app, {}, 'reticent', '').get_completions(words, '')\n"
        "    assert len(offered) == len(GROUPS[words[0]][1] if words else {**VERBS, **GROUPS}), words\n"
        "    try:\n"
        "        app([*words, '--help'])\n"
        "    except SystemExit as end:\n"
        "        assert end.code == 0\n"
        "named = [listed for listed in (VERBS, *(verbs for _, verbs in GROUPS.values()))]\n"
        "files = {place.partition(':')[0] for verbs in named for place, _ in verbs.values()}\n"
        "loaded = {f'reticent.cli.{file}' for file in files} & set(sys.modules)\n"
        "assert not loaded, loaded\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.wide
def test_help_is_short() -> None:
    for verb in NAMED:
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
    asked = {"_RETICENT_COMPLETE": "bash_complete", "COMP_WORDS": "reticent ledger s", "COMP_CWORD": "2"}
    program = Path(sys.executable).with_name("reticent")
    done = subprocess.run(
        [program], env={**os.environ, **asked}, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == ["plain,show"]


def test_a_verb_takes_the_parameters_that_it_declares() -> None:
    for verb in NAMED:
        found = listed(verb).command()
        assert found.callback is not None
        declared = {one.name: one for one in found.params if one.expose_value}
        taken = {name: str(one.annotation) for name, one in signature(found.callback).parameters.items()}
        assert taken.pop("voice") == "Voice", verb
        if taken.pop("request", None) is not None:  # the options of a request, taken together
            taken |= {field.name: str(field.type) for field in fields(Request)}
        if taken.pop("supposed", None) is not None:
            taken |= {field.name: str(field.type) for field in fields(PublicGuess)}
        assert set(taken) == set(declared), verb
        for name, one in declared.items():
            kind = {PATH: "Path", STEM: "Path", AT_LEAST_ONE: "int", NUMBER: "float"}.get(one.type, "str")
            kind = "bool" if isinstance(one, click.Option) and one.is_flag else kind
            several = one.multiple or one.nargs == -1
            given = several or one.required or kind == "bool" or isinstance(one.default, (str, int, float, Path))
            whole = f"tuple[{kind}, ...]" if several else kind if given else f"{kind} | None"
            assert taken[name] == whole, (verb, name)


@pytest.mark.parametrize(("shell", "script"), [("bash", ".bash_completions/reticent.sh"), ("zsh", ".zfunc/_reticent")])
def test_completion_is_installed_once(shell: str, script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SHELL", f"/usr/bin/{shell}")
    start = tmp_path / f".{shell}rc"
    start.write_text("alias l=ls", "utf-8")
    for _ in range(2):
        done = run("--install-completion")
        assert (done.code, done.out.split("\n")[0]) == (0, f"{shell} completion installed in {tmp_path / script}")
        first, *added = start.read_text("utf-8").splitlines()
        assert (first, len(added)) == ("alias l=ls", 1)
    assert (tmp_path / script).read_text("utf-8").strip() == run("--show-completion").out.strip()


def test_completion_for_an_unknown_shell_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    done = run("--install-completion")
    assert (done.code, done.said.endswith("See: reticent --help")) == (2, True)
    assert "Completion is for bash, zsh, fish; $SHELL names 'tcsh'" in done.said
