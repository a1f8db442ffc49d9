"""Hints beside a refused question: a declared column of odd signs stands in backticks, a date has hyphens.

hinted(said, texts, names)    the words of a refusal, with how such a column, or a date, is written
in_python(said)               the same with the arguments of ``rt.study`` in place of a study file's lines
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from typing import Final

from reticent.data.expression_tree import DATE_OTHERWISE, WORDS

PLAIN: Final = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)?")  # one dot: a column of a further table
BACKTICKED: Final = re.compile(r"`(?:[^`]|``)*`")
GUESSED: Final = re.compile(
    r" A (?:name with other signs stands in backticks:|column of that name is written) `[^`]*`\.?"
)
ODD_CALL: Final = "with other signs stands in backticks:"
ARGUMENT: Final = r"^\s*\w+\(\s*{}\s*(?=[,)])"  # the whole argument of a statistic, which takes any name
GROUP: Final = r"(?<= by )\s*{}\s*(?=$|,| where | with )"
DATE: Final = "date is written 2024-02-29"
FILE_WORDS: Final = {
    "low = …, high = …": "rt.real(low, high)",
    "low = 0, high = …": "rt.real(0, …)",
    'kind = "category", among = [...]': "rt.category([...])",
    "missing = …": "rt.real(…, missing=…)",
    'kind = "datetime", zone = "Europe/Berlin"': 'rt.datetime(…, zone="Europe/Berlin")',
}
KEYS: Final = (  # of a study file, which have arguments of the same name in Python, but for two
    *("adjacency", "column", "rows", "people", "household", "per_household", "unit"),
    *(
        "source",
        "ledger",
        "title",
        "snapshot",
        "delimiter",
        "encoding",
        "decimal",
        "thousands",
        "na",
        "sheet",
        "weight",
    ),
    *(
        "design",
        "margins",
        "strata",
        "override",
        "public",
        "key",
        "keys",
        "owners",
        "join",
        "at_most",
        "ceiling",
        "typical",
    ),
    *(
        "low",
        "high",
        "kind",
        "zone",
        "among",
        "missing",
        "complete",
        "constant",
        "format",
        "name",
        "memory",
        "spill",
        "partitions",
        "engine",
    ),
)
IN_PYTHON: Final = {"column": "person", "rows": "rows_each"}
SECTION: Final = re.compile(
    r'\[columns\.([A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*")\]'
    r'(?: kind = "integer", low = (-?\d+), high = (-?\d+)| (' + "|".join(map(re.escape, FILE_WORDS)) + "))?"
)
TABLES: Final = re.compile(r"\[tables\.([^\]\s]+)\](\.columns)?")
OPENING: Final = re.compile(r"^\[tables\.([^\]\s]+)\] ", re.MULTILINE)
ONE_EACH: Final = 'rows = "one_each"'
CAP: Final = re.compile(r"\brows = \{ at_most = ([^,}]+) \}")
VALUE: Final = r'(?:"[^"]*"|…|true|false|[\d.]+|[a-z_]+(?=[.,;]? )|\[[^\]]*\]|\{ (?:[^{}]|\{[^{}]*\})* \})'
LINE: Final = re.compile(rf"(?:\[(?:study|person|budget|engine)\] )?\b({'|'.join(KEYS)}) = ({VALUE})")
PAIR: Final = re.compile(r'("[^"]*"|\w+) = ')
INLINE: Final = re.compile(r"\{ \w+ = [^{}]* \}")
OF_EACH: Final = re.compile(  # a question, which is text in Python
    r"(?<![\w\"'`.(])(\w+\([^()\"]*, per=person\)(?: by \w+(?:, \w+(?![\w(]| \w))*)?)"
)
NAMED: Final = re.compile(rf"\[(?:study|person|budget)\] (?:and )?({'|'.join(KEYS)})\b")
HABITS: Final = (  # of formulas, of other tools and of SQL
    (re.compile(r"\b(regress|test)\(\s*(\w+)\s*,\s*(\w+)\s*(?=[,)])"), r"\1(\2 ~ \3"),
    (re.compile(r"\b(regress|test)\((\w+) by (\w+)(?=[,)])"), r"\1(\2 ~ \3"),
    (re.compile(r"\bsum\((\w+)\)\s*/\s*count\b(?:\(\*?\))?"), r"mean(\1)"),
    (re.compile(r"\b(\w+)\s*//\s*(\d+)"), r"floor(\1 / \2)"),
    (re.compile(r"\b(\w+)\s*(?:%|\bmod\b)\s*(\d+)"), r"\1 - floor(\1, \2)"),
    (re.compile(r"\b(\w+)\s*(?:\^|\*\*)\s*2\b"), r"\1 * \1"),
    (re.compile(r"\b(log|sqrt|exp|abs) (\w+)"), r"\1(\2)"),
    (re.compile(r"\bedges=0-(\d+)0(?=[,)])"), r"edges=0:\g<1>0:\g<1>"),
    (re.compile(r"\) (?:per|group(?:ed)? by) (?=[\w`])"), ") by "),
    (re.compile(r"\bwith total$"), "with totals"),
)
CHARGED: Final = " Nothing was charged."


def hinted(said: str, texts: Sequence[str], names: Collection[str]) -> str:
    """The words of a refusal, with how a column in the question, or a date, would have to be written.

    Parameters
    ----------
    said : str
        Words of the refusal.
    texts : sequence of str
        Questions as they were typed. The whole argument of a statistic, and a group, may be any name.
    names : collection of str
        Declared columns.

    Returns
    -------
    str
    """
    plain = [BACKTICKED.sub(" ", text) for text in texts]
    typed = " ; ".join(f" {text}".partition(" where ")[2] for text in plain)
    found = [name for name in names if _is_odd(name) and any(_is_read(name, text) for text in plain)]
    found = [] if ODD_CALL in GUESSED.sub("", said) else found
    hints = [f" The column {name} stands in backticks: `{name.replace('`', '``')}`." for name in found]
    if hints:
        said = GUESSED.sub("", said)
    if DATE_OTHERWISE.search(typed) and DATE not in said:
        hints.append(f" A {DATE}.")
    hints = [hint for hint in hints if hint not in said]
    if not said.endswith(CHARGED):
        return said + "".join(hints)
    return said.removesuffix(CHARGED) + "".join(hints) + CHARGED


def _is_read(name: str, text: str) -> bool:
    """Tell if a name of odd signs, or a word of the grammar, stands in a question where a formula is read."""
    if name not in text:  # of many columns most are in no question, and each would need patterns of its own
        return False
    odd, clause = re.escape(name), name.lower() in ("by", "where")
    text = re.sub(ARGUMENT.format(odd), "(", text)
    text = text if name.lower() == "where" else re.sub(GROUP.format(odd), " ", text)
    if name.lower() in WORDS:  # that the grammar has it here too is no mistake
        _, _, after = f" {text}".partition(" where ")
        inside = " ".join(re.findall(r"\([^()]*\)", text))
        stands = " ".join(re.findall(rf"(?<= by )\s*{odd}\s*(?:$|,)", text))
        text = f"{inside} ; {after} ; {stands}" if clause else text
    return re.search(rf"(?<!\w){odd}(?!\w)", text) is not None


def otherwise(text: str) -> str:
    """The question that a text of another tool most likely means; empty where it is written as it should be."""
    meant = text
    for pattern, written in HABITS:
        meant = pattern.sub(written, meant)
    return "" if meant == text else meant


def in_python(said: str) -> str:
    """The words of a refusal with the arguments of ``rt.study`` in place of the lines of a study file.

    Parameters
    ----------
    said : str
        Words of the refusal.

    Returns
    -------
    str
    """

    def column(found: re.Match[str]) -> str:
        name = json.loads(found[1]) if found[1].startswith('"') else found[1]
        what = f"rt.integer({found[2]}, {found[3]})" if found[2] else FILE_WORDS.get(found[4] or "", "…")
        return f"columns={{{json.dumps(name, ensure_ascii=False)}: {what}}}"

    def line(found: re.Match[str]) -> str:
        return f"{IN_PYTHON.get(found[1], found[1])}={_value(found[2])}"

    said = SECTION.sub(column, said)
    said = OPENING.sub(r"The table \1: ", said)
    said = TABLES.sub(lambda found: f"the {'columns of the ' if found[2] else ''}table {found[1]}", said)
    said = said.replace("[engine] name = ", "engine = ")
    said = CAP.sub(r"rows_each=\1", said.replace(ONE_EACH, "rows_each=1"))
    said = INLINE.sub(lambda found: _value(found[0]), LINE.sub(line, said))
    said = OF_EACH.sub(r'"\1"', said)
    said = NAMED.sub(lambda found: f"{IN_PYTHON.get(found[1], found[1])}=…", said)
    said = said.replace(" in [budget]", " of rt.study").replace("[engine] ", "engine: ")
    return re.sub(r"\[(study|person|budget|columns)\] ", "", said)


def _value(text: str) -> str:
    """A value of TOML as Python writes it."""
    if text in ("true", "false"):
        return text.capitalize()
    if not text.startswith("{"):
        return text
    inner = PAIR.sub(lambda found: f"{found[1] if found[1].startswith(chr(34)) else json.dumps(found[1])}: ", text)
    return inner.replace("{ ", "{").replace(" }", "}")


def _is_odd(name: str) -> bool:
    return PLAIN.fullmatch(name) is None or name.lower() in WORDS


__all__ = ["hinted", "in_python"]
