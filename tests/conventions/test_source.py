"""Names, sizes and signatures of the package."""

from __future__ import annotations

import ast
import re

import pytest

from tests.conventions.tree import Module, broken, functions, parsed

EMPTY_NAMES = {"utils", "util", "helpers", "helper", "common", "base", "manager", "managers", "misc"}
AT_A_DOT = re.compile(r"""\b(r?partition|r?split)\(["']\.["']""")
NO_COLUMNS = {  # what they divide is a module, the type of a cast, a table of a database, or how a name is written
    "data/file_kinds.py",
    "data/expression_tree.py",
    "data/joined_table.py",
    "data/source.py",
    "data/spark_table.py",
    "sql/scalar.py",
}
LONGEST = 600  # lines of a file
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK|NotImplementedError)\b")


def unfinished(module: Module) -> list[str]:
    """Marks of work left over."""
    lines = enumerate(module.text.splitlines(), start=1)
    return [f"{number}: {match.group()}" for number, line in lines for match in UNFINISHED.finditer(line)]


def loose_parameters(module: Module) -> list[str]:
    """Parameters that take anything, or that would let noise be repeated."""
    found = []
    for function in functions(module):
        arguments = function.args
        named = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
        found += [f"{function.lineno}: {name}" for name in named if name in {"seed", "random_state", "rng"}]
        public = not function.name.startswith("_")
        if public and arguments.kwarg is not None and arguments.kwarg.annotation is None:
            found.append(f"{function.lineno}: **{arguments.kwarg.arg}")
        if arguments.kwarg is not None and arguments.kwarg.arg in {"kwargs", "kw", "options"}:
            found.append(f"{function.lineno}: **{arguments.kwarg.arg}")
    return found


def lone_promises(module: Module) -> list[str]:
    """Casts and ignored type errors that do not say why."""
    found = []
    lines = module.text.splitlines()
    for node in module.nodes:
        match node:
            case ast.Call(func=ast.Name(id="cast") | ast.Attribute(attr="cast", value=ast.Name(id="typing"))):
                if "#" not in lines[node.lineno - 1] and "#" not in lines[node.lineno - 2]:
                    found.append(f"{node.lineno}: cast without a comment")
    ignored = enumerate(lines, start=1)
    found += [f"{number}: bare type: ignore" for number, line in ignored if re.search(r"type: ignore(?!\[)", line)]
    return found


def unexplained(module: Module) -> list[str]:
    """A module whose first line does not say what it is for."""
    return [] if module.text.strip() == "" or ast.get_docstring(module.tree) else ["no docstring"]


def divided_names(module: Module) -> list[str]:
    """Names of columns that are divided at a dot without the tables there are: ``joined_table.parted`` knows them."""
    if not module.path.startswith(("data/", "study/", "sql/")) or module.path in NO_COLUMNS:
        return []
    lines = enumerate(module.text.splitlines(), start=1)
    return [f"{number}: {line.strip()}" for number, line in lines if AT_A_DOT.search(line)]


def bare_sections(module: Module) -> list[str]:
    """Sections of columns that are written without the quotes which TOML wants: ``format.section`` has them."""
    lines = enumerate(module.text.splitlines(), start=1)
    return [f"{number}: {line.strip()}" for number, line in lines if re.search(r"columns\.\{(?!toml_key\()", line)]


def misplaced(module: Module) -> list[str]:
    """More than two folders deep, or a name that says nothing."""
    parts = module.path.removesuffix(".py").split("/")
    return [part for part in parts if part.strip("_") in EMPTY_NAMES] + (["deeper than two folders"] * (len(parts) > 3))


def lost_guards(module: Module) -> list[str]:
    """Assertions that a price or a noise is the one charged: ``python -O`` would leave them out."""
    return [
        f"{node.lineno}: {ast.unparse(node)}"
        for node in module.nodes
        if isinstance(node, ast.Assert) and _compares_prices(node.test)
    ]


def _compares_prices(test: ast.expr) -> bool:
    names = {getattr(one, "attr", getattr(one, "id", "")) for one in ast.walk(test)}
    compared = isinstance(test, ast.Compare) and not isinstance(test.ops[0], ast.Is | ast.IsNot)
    return "alike" in names or (compared and bool(names & {"guarantee", "loss", "noise", "charged", "spent"}))


def replaced_methods(module: Module) -> list[str]:
    """Methods that ``dataclass`` puts its own in the place of, before Python 3.11.4: ``errors.restored`` sets them."""
    return [
        f"{one.lineno}: {node.name}.{one.name}"
        for node in module.nodes
        if isinstance(node, ast.ClassDef) and any("slots=True" in ast.unparse(one) for one in node.decorator_list)
        for one in node.body
        if isinstance(one, ast.FunctionDef) and one.name in ("__getstate__", "__setstate__")
    ]


def too_long(module: Module) -> list[str]:
    """A file that nobody reads in one sitting."""
    lines = module.text.count("\n")
    return [f"{lines} lines"] * (lines > LONGEST)


def test_a_file_can_be_read_in_one_sitting() -> None:
    assert broken(too_long) == {}


def test_the_search_for_long_files_finds() -> None:
    assert too_long(parsed("x.py", "x = 1\n" * (LONGEST + 1))) == ["601 lines"]
    assert too_long(parsed("x.py", "x = 1\n" * LONGEST)) == []


def test_no_class_loses_the_method_that_fills_it_from_a_pickle() -> None:
    assert broken(replaced_methods) == {}


@pytest.mark.parametrize("options", ["frozen=True, slots=True", "slots=True"])
def test_the_search_for_replaced_methods_finds(options: str) -> None:
    text = f"@dataclass({options})\nclass A:\n    def __setstate__(self, state): ..."
    assert replaced_methods(parsed("x.py", text)) == ["3: A.__setstate__"]
    assert replaced_methods(parsed("x.py", text.replace("slots=True", "order=True"))) == []


def test_no_guard_of_a_price_is_left_out_by_an_option_of_python() -> None:
    assert broken(lost_guards) == {}


@pytest.mark.parametrize("text", ["assert a.loss == b.loss", "assert compose.alike(a, b)", "assert x.noise == y"])
def test_the_search_for_lost_guards_finds(text: str) -> None:
    assert lost_guards(parsed("x.py", text)) != []


def test_nothing_is_left_unfinished() -> None:
    assert broken(unfinished) == {}


def test_signatures_say_what_they_take() -> None:
    assert broken(loose_parameters) == {}


def test_a_dot_divides_a_name_of_a_column_in_one_place() -> None:
    assert broken(divided_names) == {}


def test_a_section_of_a_column_can_be_pasted() -> None:
    assert broken(bare_sections) == {}


def test_casts_and_ignored_errors_give_a_reason() -> None:
    assert broken(lone_promises) == {}


def test_the_first_lines_explain_a_module() -> None:
    assert broken(unexplained) == {}


def test_folders_are_at_most_two_deep_and_names_mean_something() -> None:
    assert broken(misplaced) == {}


@pytest.mark.parametrize("text", ["# TODO later", "raise NotImplementedError", "x = 1  # FIXME"])
def test_the_search_for_unfinished_work_finds(text: str) -> None:
    assert unfinished(parsed("x.py", text)) != []


@pytest.mark.parametrize(
    "text",
    [
        "def f(x, seed=0): ...",
        "class A:\n    def g(self, *, random_state): ...",
        "def f(**kwargs: str): ...",
        "def f(**anything): ...",
    ],
)
def test_the_search_for_loose_parameters_finds(text: str) -> None:
    assert loose_parameters(parsed("x.py", text)) != []


@pytest.mark.parametrize("text", ["\nx = cast(int, y)", "x = 1  # type: ignore"])
def test_the_search_for_lone_promises_finds(text: str) -> None:
    assert lone_promises(parsed("x.py", text)) != []


@pytest.mark.parametrize("path", ["a/b/c/d.py", "data/utils.py", "helpers/__init__.py"])
def test_the_search_for_misplaced_modules_finds(path: str) -> None:
    assert misplaced(parsed(path, "")) != []
