"""Plain English: first words of docstrings, length of sentences, and sections of public functions.

A page of ``PAGES`` still has long sentences. The lists only shrink: a page that is clean must leave its list. Decisions
of earlier dates are records and keep their wording.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator

import pytest

from reticent.mechanisms import registry, shuffled, subsampled
from tests.conventions.prose import LONGEST, Sentence, long_in_docstrings, long_in_markdown, riddles, sentences
from tests.conventions.tree import ROOT, modules, parsed

ROOMS = ("", ".learning", ".survey", ".ledger", ".privacy", ".mechanisms", ".lab")
MANY = 3  # parameters that need a section
API = ROOT / "docs" / "reference" / "api"
RECORDS = tuple(f"docs/decisions/{number:04}" for number in range(1, 13))

# Pages that are not done yet.
PAGES: tuple[str, ...] = ()


def unclear(tree: ast.Module) -> list[str]:
    return [*riddles(tree), *long_in_docstrings(tree)]


def outside(found: dict[str, list[str]], listed: tuple[str, ...]) -> dict[str, list[str]]:
    """Problems of all names that begin with no listed one, and the listed ones that are clean and must go."""
    clean = [name for name in listed if not any(path.startswith(name) for path in found)]
    problems = {path: problems for path, problems in found.items() if not path.startswith(listed)}
    return problems | ({"clean": clean} if clean else {})


def test_docstrings_begin_with_a_noun_or_a_verb_and_keep_sentences_short() -> None:
    found = {module.path: problems for module in modules() if (problems := unclear(module.tree))}
    assert found == {}


def test_pages_keep_sentences_short() -> None:
    files = {file.relative_to(ROOT).as_posix(): file for file in sorted((ROOT / "docs").rglob("*.md"))}
    texts = {path: file.read_text("utf-8") for path, file in files.items() if not path.startswith(RECORDS)}
    found = {path: problems for path, text in texts.items() if (problems := long_in_markdown(text))}
    assert outside(found, PAGES) == {}


def public() -> Iterator[tuple[str, Callable[..., object]]]:
    """Public functions and methods of the rooms that people import from."""
    for room in ROOMS:
        package = importlib.import_module("reticent" + room)
        things = [getattr(package, name) for name in getattr(package, "__all__", ())]
        if room == ".mechanisms":
            made = [(thing, one) for one in (*registry.ALL, subsampled, shuffled) for thing in vars(one).values()]
            things = [thing for thing, one in made if hasattr(thing, "guarantee") and _defined_in(thing, one.__name__)]
        elif not things:
            for found in pkgutil.iter_modules(package.__path__):
                module = importlib.import_module(f"{package.__name__}.{found.name}")
                things += [thing for thing in vars(module).values() if _defined_in(thing, module.__name__)]
        for thing in things:
            yield from callables(thing, vars(thing) if inspect.isclass(thing) else ())


def documented() -> Iterator[tuple[str, Callable[..., object]]]:
    """Functions, and methods with the inherited ones, of every name that the reference lists."""
    for page in (API.with_suffix(".md"), *sorted(API.glob("*.md"))):
        for room, listed in re.findall(
            r"^\.\. room:: (\S+)\n(?: +:names: (.+)\n)?", page.read_text("utf-8"), re.MULTILINE
        ):
            module = importlib.import_module(room)
            names = listed.split() or getattr(module, "__all__", vars(module))
            for thing in (getattr(module, name) for name in names):
                if listed or hasattr(module, "__all__") or _defined_in(thing, room):
                    members = inspect.getmembers(thing) if inspect.isclass(thing) else ()
                    yield from callables(thing, dict(members))


def callables(thing: object, members: Iterable[str]) -> Iterator[tuple[str, Callable[..., object]]]:
    """A function of ours, or the public functions among the members of a class."""
    for found in (thing, *(inspect.getattr_static(thing, name) for name in members if not name.startswith("_"))):
        function = getattr(found, "__func__", found)
        if inspect.isfunction(function) and function.__module__.startswith("reticent"):
            yield f"{function.__module__}.{function.__qualname__}", function


def _defined_in(thing: object, module: str) -> bool:
    return getattr(thing, "__module__", None) == module and not getattr(thing, "__name__", "_").startswith("_")


def lacking(function: Callable[..., object]) -> list[str]:
    """Sections and parameters that a docstring leaves out, by numpydoc's headings."""
    signature = inspect.signature(function)
    names = [name for name in signature.parameters if name not in ("self", "cls")]
    if len(names) < MANY:
        return []
    text = inspect.getdoc(function) or ""
    sections = dict(re.findall(r"^(\w+)\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", text, re.MULTILINE | re.DOTALL))
    stated = re.findall(r"^(\S[^:\n]*?)(?: *:.*)?$", sections.get("Parameters", ""), re.MULTILINE)
    listed = {name.strip("* ") for line in stated for name in line.split(",")}
    found = [f"parameter {name}" for name in names if name not in listed]
    if signature.return_annotation not in (None, "None", inspect.Signature.empty) and "Returns" not in sections:
        found += [] if "Yields" in sections else ["Returns"]
    body = ast.parse(textwrap.dedent(inspect.getsource(function)))
    refuses = any(isinstance(node, ast.Raise) for node in ast.walk(body))
    return found + ["Raises"] * (refuses and "Raises" not in sections)


def test_public_functions_of_many_parameters_state_each_of_them() -> None:
    functions = dict([*public(), *documented()])
    assert len(functions) > 500
    assert {name: problems for name, function in functions.items() if (problems := lacking(function))} == {}


def test_the_search_for_parameters_finds() -> None:
    def three(a: int, b: int, c: int) -> int:
        """Sum.

        Parameters
        ----------
        a, b : int
            Terms.
        """
        if a:
            raise ValueError
        return a + b + c

    assert lacking(three) == ["parameter c", "Returns", "Raises"]


def test_the_list_of_the_undone_only_shrinks() -> None:
    assert outside({"a/x.py": ["long"]}, ("a/", "b/")) == {"clean": ["b/"]}
    assert outside({"a/x.py": ["long"]}, ("b/x.py",)) == {"a/x.py": ["long"], "clean": ["b/x.py"]}


@pytest.mark.parametrize("text", ["What it is.", "Whether it holds.", "Of a column, in its unit."])
def test_the_search_for_riddles_finds(text: str) -> None:
    assert riddles(parsed("x.py", f'def f(): "{text}"').tree) != []
    assert riddles(parsed("x.py", f'class A:\n    x = 1\n    "{text}"').tree) != []


def test_the_search_for_riddles_lets_nouns_and_verbs_pass() -> None:
    assert riddles(parsed("x.py", 'def f(): "Offset of a row."').tree) == []


LONG = " ".join(["word"] * (LONGEST + 1))
SHORT = " ".join(["word"] * LONGEST)


@pytest.mark.parametrize(
    "text", [f"First. {LONG}.", f"First:\n\n- {LONG}.\n- b", f"Parameters\n----------\nx : int\n    {LONG}."]
)
def test_the_search_for_long_sentences_finds(text: str) -> None:
    assert long_in_docstrings(parsed("x.py", f'"""{text}\n"""').tree) != []


@pytest.mark.parametrize("text", [f"{SHORT}. {SHORT}!", f"First:\n\n    {LONG}\n\nLast.", f"{SHORT} ``a b c``."])
def test_the_search_for_long_sentences_leaves_code_and_short_ones(text: str) -> None:
    assert long_in_docstrings(parsed("x.py", f'"""{text}\n"""').tree) == []


@pytest.mark.parametrize("text", [LONG, f"1. {LONG}", f"> {LONG}", f"# Head\n{LONG}", f"- a\n\n    {LONG}"])
def test_the_search_for_long_sentences_of_pages_finds(text: str) -> None:
    assert long_in_markdown(text) != []


@pytest.mark.parametrize(
    "text", [f"```\n{LONG}\n```", f"| {LONG} |", f"Code:\n\n    {LONG}", f"# {LONG}", f"$$\n{LONG}\n$$"]
)
def test_the_search_for_long_sentences_of_pages_leaves_code_and_tables(text: str) -> None:
    assert long_in_markdown(text) == []


def test_a_sentence_ends_at_its_stop_and_not_at_an_abbreviation() -> None:
    found = list(sentences(1, "One, e.g. this (cf. Sec. 3). Two is `a. B` at 1.5!\nThree?"))
    assert [(s.line, s.text) for s in found] == [
        (1, "One, e.g. this (cf. Sec. 3)."),
        (1, "Two is `a. B` at 1.5!"),
        (2, "Three?"),
    ]
    assert Sentence(1, "P(x) <= e^epsilon for `code` and $maths$ [link](there.md), x a row").words == 5
