"""Plain English: first words of docstrings, length of sentences, and sections of functions of many parameters.

A page of ``PAGES`` still has long sentences. The lists only shrink: a page that is clean must leave its list. Decisions
of earlier dates are records and keep their wording, and so are the changes of a version that is published.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.conventions.prose import (
    LONGEST,
    Sentence,
    long_in_docstrings,
    long_in_markdown,
    long_in_messages,
    long_in_template,
    riddles,
    sentences,
)
from tests.conventions.tree import ROOT, SRC, modules, parsed

MANY = 3  # parameters that need a section
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


def test_messages_keep_sentences_short() -> None:
    assert {module.path: problems for module in modules() if (problems := long_in_messages(module.tree))} == {}
    pages = {file.name: long_in_template(file.read_text("utf-8")) for file in SRC.rglob("*.html")}
    assert pages
    assert {name: problems for name, problems in pages.items() if problems} == {}


def test_pages_keep_sentences_short() -> None:
    files = {file.relative_to(ROOT).as_posix(): file for room in ("", "docs/**/") for file in ROOT.glob(f"{room}*.md")}
    texts = {path: file.read_text("utf-8") for path, file in files.items() if not path.startswith(RECORDS)}
    texts["CHANGELOG.md"] = texts["CHANGELOG.md"].partition("\n## 0.1.0\n")[0]
    found = {path: problems for path, text in texts.items() if (problems := long_in_markdown(text))}
    assert outside(found, PAGES) == {}


def public(tree: ast.AST, within: str = "") -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Functions of a file and methods of its classes whose names have no underscore before them."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from public(node, f"{within}{node.name}.")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
            yield within + node.name, node
        elif isinstance(node, ast.If | ast.Try):
            yield from public(node, within)


def is_command(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """True for a verb of the command line: its decorators state each option with a sentence, for its help."""
    return any(ast.unparse(one).split("(")[0].endswith((".command", "command")) for one in node.decorator_list)


def lacking(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """Sections and parameters that a docstring leaves out, by numpydoc's headings; of a mere protocol nothing."""
    given = node.args
    listed_args = [*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs, given.kwarg]
    names = [one.arg for one in listed_args if one is not None and one.arg not in ("self", "cls")]
    text = ast.get_docstring(node) or ""
    if len(names) < MANY or is_command(node) or (not text and ast.unparse(node.body[0]) == "..."):
        return []
    sections = dict(re.findall(r"^(\w+)\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", text, re.MULTILINE | re.DOTALL))
    stated = re.findall(r"^(\S[^:\n]*?)(?: *:.*)?$", sections.get("Parameters", ""), re.MULTILINE)
    listed = {name.strip("* ") for line in stated for name in line.split(",")}
    found = [f"parameter {name}" for name in names if name not in listed]
    if node.returns is not None and ast.unparse(node.returns) != "None" and not sections.keys() & {"Returns", "Yields"}:
        found.append("Returns")
    refuses = any(isinstance(inner, ast.Raise) for inner in ast.walk(node))
    return found + ["Raises"] * (refuses and "Raises" not in sections)


def test_functions_of_many_parameters_state_each_of_them() -> None:
    functions = {f"{module.path}:{name}": node for module in modules() for name, node in public(module.tree)}
    assert len(functions) > 3_000
    assert {name: problems for name, node in functions.items() if (problems := lacking(node))} == {}


SUM = """
def three(a: int, b: int, c: int) -> int:
    '''Sum.

    Parameters
    ----------
    a, b : int
        Terms.
    '''
    if a:
        raise ValueError
    return a + b + c
"""


def test_the_search_for_parameters_finds() -> None:
    ((_, node),) = public(ast.parse(SUM))
    assert lacking(node) == ["parameter c", "Returns", "Raises"]
    ((_, bare),) = public(ast.parse("def three(a, b, c):\n    return a"))
    assert lacking(bare) == ["parameter a", "parameter b", "parameter c"]


@pytest.mark.parametrize(
    "text",
    [
        "def _three(a, b, c): return a",
        "class _A:\n    def three(self, a, b, c): return a",
        "@click.command('three')\ndef three(a, b, c): return a",
        "class A(Protocol):\n    def three(self, a, b, c): ...",
    ],
)
def test_the_search_for_parameters_lets_be(text: str) -> None:
    assert [problem for _, node in public(ast.parse(text)) for problem in lacking(node)] == []


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


@pytest.mark.parametrize(
    "text", [f"f('{LONG}')", f"x = f'{{x}}: a. {LONG} {{y}}'", f'x = """\n    First.\n\n    {LONG}."""']
)
def test_the_search_for_long_sentences_of_messages_finds(text: str) -> None:
    assert long_in_messages(parsed("x.py", text).tree) != []


@pytest.mark.parametrize("text", [f'"""{LONG}"""', f"f('{SHORT}. {SHORT}')", f"x = 'SELECT {LONG}'", f"f('`{LONG}`')"])
def test_the_search_for_long_sentences_of_messages_leaves_code_and_short_ones(text: str) -> None:
    assert long_in_messages(parsed("x.py", text).tree) == []


def test_the_search_for_long_sentences_of_templates_finds() -> None:
    assert long_in_template(f"<p>First. {SHORT}{{{{ value }}}} <b>one</b></p>") != []
    assert long_in_template(f"<p>{SHORT}</p><script>{LONG}</script><p>{SHORT}</p>{{# {LONG} #}}") == []


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
