"""Syntax trees of SQL: one statement of bounded size, and what a node may hold.

SQLGlot reads the text and does nothing else. No text of a statement reaches an engine. A node is taken apart by
``parts``, which refuses whatever the caller did not name: flags such as those of ``GROUP BY ALL`` stand in no type.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from reticent.errors import QuestionError

LONGEST: Final = 20_000
DEEPEST: Final = 60
TABLE: Final = "study"
_PRIVATE: Final = re.compile(
    r"\s*SELECT\s+WITH\s+(?:DIFFERENTIAL_PRIVACY|ANONYMIZATION)(?:\s+OPTIONS\s*\(([^()]*)\))?", re.IGNORECASE
)
_OPTION: Final = re.compile(r"\s*(\w+)\s*=\s*(?:'([^']*)'|\"([^\"]*)\"|([\w.+-]+))\s*", re.IGNORECASE)

_FIRST: Final = re.compile(r"\s*(?!(?:SELECT|WITH|FROM|VALUES)\b)([A-Z_]+)", re.IGNORECASE)

# functions that SQLGlot does not know, by the name of one that it does
_SPELLED: Final[Mapping[str, str]] = {"VAR": "VARIANCE", "STD": "STDDEV", "APPROX_PERCENTILE": "QUANTILE_CONT"}
# words of other dialects that leave a statement unreadable, with what to write instead
_OTHER_DIALECTS: Final[Mapping[str, str]] = {
    r"=>": "Bounds of a person are those that the study declares: AVG(x).",
    r"\bTOP\s+\d": "Write LIMIT 5 at the end.",
    r"\bDATE_?DIFF\s*\(": "Write DATE_DIFF('day', a, b).",
}
_PARTS_INSTEAD: Final[Mapping[str, str]] = {
    "distinct": "GROUP BY",
    "offset": "LIMIT alone",
    "direction": "LIMIT 5",
    "qualify": "HAVING",
    "sample": "a WHERE on a column; the noise is drawn by the release",
}

QUIET: Final = frozenset({"big_int", "safe", "typed", "nulls_first", "_type", "zone", "unabbreviate", "ignore_nulls"})


def refusal(words: str) -> QuestionError:
    """The refusal of a statement, before anything is charged."""
    return QuestionError(f"{words} Nothing was charged.")


def select(text: str, columns: Iterable[str] = ()) -> tuple[object, dict[str, str]]:
    """The syntax tree of a statement, with the options of ``SELECT WITH DIFFERENTIAL_PRIVACY``.

    Raises
    ------
    QuestionError
        What is no single SELECT, or is too long or too deep. Names of ``columns`` that want quotes are told.
    """
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    if type(text) is not str:
        raise refusal(f"A statement is plain text, got {text!r}.")
    if len(text) > LONGEST:
        raise refusal(f"A statement has at most {LONGEST:,} characters.")
    _check_depth(text)
    if (first := _FIRST.match(text)) is not None:  # SQLGlot would log the text of a command that it does not know
        raise refusal(f"A statement begins with SELECT or WITH; {first.group(1).upper()} asks for no statistic.")
    plain, options = _without_options(text)
    try:
        found = [one.transform(_spelled) for one in sqlglot.parse(plain, read="duckdb") if one is not None]
    except (SqlglotError, RecursionError, ValueError) as error:
        hint = _quotes(plain, columns) or _dialect(plain)
        raise refusal(f"The statement cannot be read{_place(error)}.{hint}") from None
    if len(found) != 1:
        raise refusal("Write one statement, which begins with SELECT or WITH.")
    (tree,) = found
    if isinstance(tree, exp.Union | exp.Intersect | exp.Except):
        word = tree.key.upper()
        raise refusal(f"{word} of results is not allowed: ask two statements. UNION ALL of rows stands in a subquery.")
    if type(tree) is not exp.Select:
        raise refusal(f"A statement begins with SELECT or WITH; {tree.key.upper()} asks for no statistic.")
    return tree, options


def parts(node: object, *named: str) -> None:
    """Refuse a node that holds more than the parts named."""
    for name, value in node.args.items():  # type: ignore[attr-defined]  # a node of SQLGlot, which has no types
        if name in named or name in QUIET or value is None or value is False or value == []:
            continue
        word = name.rstrip("_").replace("_", " ").upper()
        hint = f" Write instead: {_PARTS_INSTEAD[name]}." if name in _PARTS_INSTEAD else ""
        raise refusal(f"{word} is not allowed in {node.key.upper()} here: no release gives it.{hint}")  # type: ignore[attr-defined]


def name_of(node: object) -> str:
    """The text of an identifier."""
    parts(node, "this", "quoted")
    return str(node.this)  # type: ignore[attr-defined]


def _spelled(node: Any) -> Any:
    """A function under the name that SQLGlot knows it by."""
    from sqlglot import exp

    if node.key == "anonymous" and (name := str(node.this).upper()) in _SPELLED:
        return exp.func(_SPELLED[name], *node.expressions, dialect="duckdb")
    return node


def _check_depth(text: str) -> None:
    depth = 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if depth > DEEPEST:
            raise refusal(f"A statement has at most {DEEPEST} brackets inside one another.")
    if len(re.findall(r"\bcase\b|\bnot\b|--?|~", text, re.IGNORECASE)) > LONGEST // 50:
        raise refusal("The statement has too many parts.")


def _place(error: Exception) -> str:
    found = getattr(error, "errors", None)
    if not found or found[0].get("line") is None:
        return ""
    return f" near line {found[0]['line']}, character {found[0]['col']}"


def _dialect(text: str) -> str:
    """A hint for a word of another dialect in a statement that cannot be read."""
    found = (words for pattern, words in _OTHER_DIALECTS.items() if re.search(pattern, text, re.IGNORECASE))
    return "".join(f" {words}" for words in found)


def _quotes(text: str, columns: Iterable[str]) -> str:
    """A hint for the first column that stands bare in a statement and cannot be read so, such as ``union``."""
    import sqlglot
    from sqlglot.errors import SqlglotError

    for name in columns:
        if re.search(rf'(?<![\w"\']){re.escape(name)}(?![\w"\'])', text, re.IGNORECASE) is None:
            continue
        try:
            sqlglot.parse(f"SELECT {name}, 1 FROM study WHERE {name} = 1", read="duckdb")  # noqa: S608  # read and thrown away
        except SqlglotError:
            return f' The column "{name}" stands in double quotes.'
    return ""


def _without_options(text: str) -> tuple[str, dict[str, str]]:
    """The statement as plain SELECT, and the options of GoogleSQL's clause."""
    match = _PRIVATE.match(text)
    if match is None:
        return text, {}
    options: dict[str, str] = {}
    for part in filter(str.strip, (match.group(1) or "").split(",")):
        option = _OPTION.fullmatch(part)
        if option is None:
            raise refusal(f"'{part.strip()}' is no option: write epsilon = 1.")
        name = option.group(1).lower()
        if name in options:
            raise refusal(f"{name} is given twice.")
        options[name] = next(group for group in option.groups()[1:] if group is not None)
    return "SELECT" + text[match.end() :], options


def only_part(node: Any, name: str, *others: str) -> Any:
    """One part of a node that has no other, but for those named.

    Parameters
    ----------
    node : node of SQLGlot
    name : str
        The part.
    *others : str
        Parts that may stand beside it.

    Returns
    -------
    node of SQLGlot, or None
    """
    parts(node, name, *others)
    return node.args.get(name)


def is_number(node: Any) -> bool:
    return node.key == "literal" and not node.args.get("is_string")


def alias_of(node: Any) -> str:
    """The name after AS, empty without one."""
    if node is None:
        return ""
    if node.key == "tablealias":
        return name_of(only_part(node, "this"))
    return name_of(node)


def named_column(node: Any) -> tuple[str, Any]:
    """A column of a SELECT with its name after AS."""
    if node.key != "alias":
        return "", node
    parts(node, "this", "alias")
    return alias_of(node.args.get("alias")), node.this


def column_title(node: Any) -> str:
    """The name of a column without one: its own, or its text in lower case."""
    if node.key == "column":
        return name_of(node.this)
    return str(node.sql(dialect="duckdb")).lower()[:60]


def union_sides(node: Any) -> Sequence[Any]:
    """The sides of a UNION ALL, however they are nested."""
    if node.key != "union":
        return [node]
    parts(node, "this", "expression", "distinct")
    if node.args.get("distinct"):
        raise refusal("UNION drops equal rows, which are other people's too: write UNION ALL.")
    return [*union_sides(node.this), *union_sides(node.expression)]


def listed_parts(node: Any) -> Sequence[Any]:
    parts(node, "expressions")
    return list(node.expressions)


def the_only(found: Sequence[Any]) -> Sequence[Any]:
    if len(found) != 1:
        raise refusal("One column is sorted by here.")
    return found
