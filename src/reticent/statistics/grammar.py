"""The grammar of the study file and the command line: text to a question.

    count    persons    mean(mdvis)    quantile(x, 0.9)    quantiles(x, 0.1 0.5 0.9)    histogram(mdvis, edges=0:50:5)
    proportion(hlthg, value=1)    mean(x, per=person, epsilon=0.1)    iqr(disea, low=0, high=60)    mean(mdvis) by site
    scale(x, method=S, mode=paper)    trimmed_mean(x, trim=0.1)    location(x)    regress(y ~ a + b, method=R_H)
    test(y ~ g, kind=ranks)    mean(cost - paid) where age >= 65 by ward, cut(age, 0:100:10)
    count by ward, year with totals    mean(cost) weight w where age >= 65 by ward
    mean(cost) by drug keys=found at_least=20    count by drug keys="drugs.csv" groups=1

A verb and its options are those of a registered statistic. Text is public: a refusal may quote it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import Final

import attrs

from reticent.data import formula
from reticent.data.expression_tree import column_text, divided
from reticent.data.format import nearest
from reticent.errors import QuestionError, Refusal
from reticent.statistics.options import source_of, steps_in, unknown
from reticent.statistics.registry import KINDS, all_statistics
from reticent.statistics.statistic import Ask, Statistic, call_of, options_of

CORRELATION: Final = dict.fromkeys(("correlation", "cor", "corr", "pearson"), "test(x ~ y, kind=correlation)")
QUESTIONS: Final = {  # words of other tools for what is a question here
    **dict.fromkeys(("mode", "table", "freq", "frequency", "value_counts", "tabulate"), "count by x"),
    "crosstab": "count by x, y",
    "range": "quantiles(x, 0.01 0.99)",
    "quartiles": "quantiles(x, 0.25 0.5 0.75)",
}
OPTIONS: Final = {  # of other tools, with those of ours that each may mean
    **dict.fromkeys(("bins", "nbins", "breaks", "buckets"), ("edges",)),
    **dict.fromkeys(("q", "p", "prob", "probs", "percentile", "quantile"), ("level", "levels")),
    **dict.fromkeys(("ci", "conf", "confidence"), ("interval",)),
    **dict.fromkeys(("eps", "ε"), ("epsilon",)),
}
EXTREMES: Final = {"min": "0.01", "minimum": "0.01", "max": "0.99", "maximum": "0.99"}
COMPARED: Final = ("difference", "diff", "ratio", "compare")
COMPARES: Final = (
    "'{}' compares answers. Ask each, or one by group, and then, at no charge, release.ratio(…) or "
    "release.difference(…), on the command line: reticent compare."
)
LISTS: Final = ("levels", "edges", "atoms", "among", "reference")
SEVERAL: Final = ("of", "names")  # positions that take all that stands without a name
_VERB: Final = re.compile(r"\s*([A-Za-z_]+)\s*")
_TOTALS: Final = re.compile(r"(?<=\S)\s+with\s+totals\s*$", re.IGNORECASE)
_OF_ANSWERS: Final = re.compile(r"\s*\w+(?:\([^()]*\))?\s*[-+/*]\s*(?:\w+\([^()]*\)|count|persons)\s*$")
_PERSON: Final = re.compile(r"\bper\s+person\b", re.IGNORECASE)
_ITEM: Final = re.compile(r"""(?:"([^"]*)"|'([^']*)')(?=[\s,]|$)|([^\s,]+)""")
_WORD: Final = re.compile(r"""(["'])(\w+)\1""")
_NEXT: Final = re.compile(
    r"""(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`)|(?P<clause>\b(?:where|by|weight)\b)|.""", re.DOTALL | re.I
)


def parse(text: str, kinds: Mapping[str, type[Statistic]] = KINDS) -> Ask:
    """The question of a text, with the columns after ``by``, if any.

    Parameters
    ----------
    text : str
    kinds : mapping of verb to statistic
        Those that are known: the registered ones, and those of extensions.

    Raises
    ------
    QuestionError
        For an unknown word or option, with the nearest known one; for a column or level that is not there.
    """
    parts = _clauses(text)
    if parts is None:
        if re.fullmatch(r"\s*(\*|select\b.*)\s*", text, re.IGNORECASE | re.DOTALL):
            raise QuestionError("Rows cannot be released. Ask for counts, means, quantiles, or: reticent synth.")
        if _OF_ANSWERS.match(text):
            raise QuestionError(COMPARES.format(text))
        person = " What each person has is averaged by mean(x, per=person)." if _PERSON.search(text) else ""
        raise QuestionError(
            f"'{text}' cannot be read.{person} Write for example: count, mean(x), quantile(x, 0.9), mean(x) by g."
        )
    verb, inner, found, totals = parts
    condition, by = found.get("where"), found.get("by")
    if verb not in kinds and verb in EXTREMES:
        level = EXTREMES[verb]
        raise QuestionError(f"The {verb} is one person's value. Ask quantile({(inner or 'x').strip()}, {level}).")
    if verb not in kinds:
        raise _no_statistic(text, verb, divided(inner or ""), kinds)
    kind = kinds[verb]
    plain, named = _arguments(inner or "")
    for option in named:
        if option not in options_of(kind):
            meant = "atoms=missing" if (verb, option) == ("density", "missing") else None
            meant = meant or next((one for one in OPTIONS.get(option.lower(), ()) if one in options_of(kind)), None)
            refused = unknown(f"option of {verb}", option, options_of(kind), meant)
            raise QuestionError(f"{refused} Write for example: {_example(kind, plain)}.")
    texts = {**_positions(kind, plain), **{name: _listed(name, value) for name, value in named.items()}}
    for field in attrs.fields(kind):
        if field.default is attrs.NOTHING and field.name not in texts:
            raise QuestionError(f"which {field.name.removesuffix('s')}? Write {_example(kind, plain)}.")
    own = {name: value for name, value in texts.items() if name not in ("per", "epsilon", "delta")}
    columns, source = (None, None) if by is None else source_of(by)
    return Ask(
        kind.read(own),
        None if columns is None else _columns(columns.strip()),
        named.get("per", "row"),  # type: ignore[arg-type]  # a word that is no unit of analysis is refused there
        named.get("epsilon"),
        named.get("delta"),
        None if condition is None else formula.read(condition),
        totals,
        found["weight"].strip() if "weight" in found else None,
        source,
    )


def _no_statistic(text: str, verb: str, plain: Sequence[str], kinds: Mapping[str, type[Statistic]]) -> QuestionError:
    """The refusal of an unknown statistic, with the nearest one and the question as it would be written."""
    if whole := QUESTIONS.get(verb) or CORRELATION.get(verb):
        return QuestionError(unknown("statistic", verb, kinds, _filled(whole, plain)))
    if verb in COMPARED:
        return QuestionError(COMPARES.format(text))
    meant = synonyms().get(verb) or nearest(verb, kinds)
    refused = unknown("statistic", verb, kinds, meant)
    if meant is None or meant not in kinds:
        return QuestionError(refused)
    typed = f"{meant}{text.strip()[len(verb) :]}"
    from reticent.data.spelling_hints import otherwise

    found = otherwise(typed) or typed
    return QuestionError(
        f"{refused} Write for example: {found if _reads(found, kinds) else _example(kinds[meant], plain)}."
    )


def _example(kind: type[Statistic], plain: Sequence[str]) -> str:
    """The first example of a statistic, about the column or formula that was typed, where it reads so."""
    filled = _filled(kind.examples[0], plain)
    return filled if _reads(filled, {kind.verb: kind}) else kind.examples[0]


def _filled(example: str, plain: Sequence[str]) -> str:
    """An example about x, or x and y, with the columns that were typed in their places."""
    formula = re.compile(r"\w+ ~ \w+")
    if plain and "~" in plain[0]:
        return formula.sub(lambda _: plain[0], example, count=1)
    named = dict(zip("xy", plain, strict=False))
    if formula.search(example) and len(named) < 2:
        return example
    return re.sub(r"\b[xy]\b", lambda found: named.get(found[0], found[0]), example)


def _reads(text: str, kinds: Mapping[str, type[Statistic]]) -> bool:
    try:
        return parse(text, kinds) is not None
    except Refusal:
        return False


@cache
def synonyms() -> Mapping[str, str]:
    """Words that are no verb, with the verb or the question that each means."""
    return {word: kind.verb for kind in all_statistics() for word in kind.synonyms} | CORRELATION


def meant(name: str, names: Collection[str]) -> str:
    """The public name of ``rt`` nearest to another, or the call that a word of other tools means; else empty."""
    near = nearest(name, names, synonyms())
    if near is None:
        return ""
    return call_of(near) if "(" in near else f"rt.{near}"


def spelt(text: str, names: Collection[str]) -> str:
    """The name that a text asks for, in whatever spelling; a text that names nothing stands as it is."""
    if text in names:
        return text
    try:
        asked = parse(text)
        if asked.name in names:
            return asked.name
        known = {name: parse(name) for name in names}
    except Refusal:
        return text
    same = [name for name, one in known.items() if _normal(one) == _normal(asked)]
    if not same:
        same = [name for name, one in known.items() if _normal(_as_open_as(asked, one)) == _normal(asked)]
    return same[0] if len(same) == 1 else text


def _as_open_as(asked: Ask, one: Ask) -> Ask:
    """A question without what the study says of it and another leaves open: its weight, and options of its schema."""
    if asked.weights is None:
        one = attrs.evolve(one, weights=None)
    if type(one.statistic) is not type(asked.statistic):
        return one
    fields = attrs.fields_dict(type(one.statistic))
    left = {name: fields[name].default for name in one.statistic.settles}
    same = {name: value for name, value in left.items() if getattr(asked.statistic, name) == value}
    return attrs.evolve(one, statistic=attrs.evolve(one.statistic, **same))


def _normal(asked: Ask) -> str:
    """A name in which every text that reads as an expression is spelt as one."""
    groups = ", ".join(map(_canonical, divided(asked.groups))) if isinstance(asked.groups, str) else None
    weights = None if asked.weights is None else _canonical(asked.weights)
    return attrs.evolve(asked, statistic=asked.statistic.renamed(_canonical), groups=groups, weights=weights).name


def _canonical(name: str) -> str:
    try:
        tree = formula.read(name)
    except QuestionError:
        return name
    return column_text(tree)


def _clauses(text: str) -> tuple[str, str | None, dict[str, str], bool] | None:
    """The verb, what stands in its brackets, the clauses by their words (``weight`` the first, if any), any totals."""
    start = _VERB.match(text)
    if start is None:
        return None
    inner, place = None, start.end()
    totals = _TOTALS.search(text)
    if totals is not None:
        text = text[: totals.start()]
    if text[place : place + 1] == "(":
        end = _closing(text, place)
        if end is None:
            return None
        inner, place = text[place + 1 : end], end + 1
    found: dict[str, str] = {}
    last = ""
    for kind, piece in _pieces(text[place:]):
        if kind == "clause" and piece.lower() not in found and (piece.lower() != "weight" or not found):
            last = piece.lower()
            found[last] = ""
        elif last:
            found[last] += piece
        elif not piece.isspace():
            return None
    if any(not clause.strip() for clause in found.values()):
        return None
    return start.group(1).lower(), inner, found, totals is not None


def _pieces(text: str) -> Iterator[tuple[str, str]]:
    """Quoted texts, the words ``where`` and ``by`` outside brackets, and all other characters one by one."""
    depth = 0
    for match in _NEXT.finditer(text):
        kind, piece = match.lastgroup or "", match.group()
        depth += (piece == "(") - (piece == ")")
        yield "" if depth else kind, piece


def _closing(text: str, first: int) -> int | None:
    """The place of the bracket that closes the one at ``first``; quotes count after ``where`` alone."""
    depth = 0
    for place in range(first, len(text)):
        depth += (text[place] == "(") - (text[place] == ")")
        if depth == 0:
            return place
    return None


def _arguments(inner: str) -> tuple[list[str], dict[str, str]]:
    plain: list[str] = []
    named: dict[str, str] = {}
    last = ""
    for part in divided(inner):
        option = re.fullmatch(r"([A-Za-z_]+)\s*=\s*(.*)", part, re.DOTALL)
        if option:
            last = option.group(1)
            if last in named:
                raise QuestionError(f"{last} is given twice")
            named[last] = option.group(2).strip()
        elif last in LISTS and part:
            named[last] += " " + part  # a list written with commas
        elif part:
            if named:
                raise QuestionError(f"'{part}' must stand before the options with '='")
            plain.append(part)
        elif inner.strip():
            raise QuestionError("there is an empty place between commas")
    return plain, named


def _listed(option: str, text: str) -> str | list[str]:
    """The text of an option; a list where it is one. Quotes about a word are left out, but for a value's."""
    if option not in LISTS:
        word = _WORD.fullmatch(text) if option != "value" else None
        return text if word is None else word.group(2)
    inner = _unbracketed(text)
    if option == "edges" and steps_in(inner):
        return inner
    return text.split() if inner == text else ["".join(item) for item in _ITEM.findall(inner)]


def _unbracketed(text: str) -> str:
    """A text without the one pair of brackets, round or square, that holds all of it."""
    depth = 0
    for match in _NEXT.finditer(text):
        piece = match.group()
        depth += (piece in ("(", "[")) - (piece in (")", "]"))
        if depth == 0:
            return text[1 : match.start()].strip() if match.start() and match.end() == len(text) else text
    return text


def _columns(clause: str) -> str:
    """The columns of groups, without brackets about a list of them."""
    inner = _unbracketed(clause)
    return inner if clause.startswith("[") or len(divided(inner)) > 1 else clause


def _without_column(verb: str, typed: str) -> str:
    """The question that a count of a column means in other tools: of rows with a value, or of different persons."""
    if verb != "count" or typed == "*":
        return verb
    if typed.lower().startswith("distinct"):
        return "persons for the number of different persons, or count by g for that of each value"
    return f"count, or count where {typed} is not missing"


def _positions(kind: type[Statistic], plain: Sequence[str]) -> dict[str, str | Sequence[str]]:
    """The options that stand without a name."""
    if not kind.positions:
        if plain:
            raise QuestionError(f"{kind.verb} takes no column. Write {_without_column(kind.verb, plain[0])}.")
        return {}
    first, *others = kind.positions
    if not plain:
        raise QuestionError(f"{kind.verb} of which column? Write {kind.verb}(column).")
    if first in SEVERAL:
        return {first: tuple(plain)}
    if others in (["levels"], ["edges"]) and len(plain) > 1:  # with spaces between them, or commas
        return {first: plain[0], others[0]: _listed(others[0], " ".join(plain[1:]))}
    if others == ["level"]:
        levels = divided(_unbracketed(", ".join(plain[1:])))
        if len(levels) > 1:
            raise QuestionError(f"{kind.verb} takes one level. Several: quantiles({plain[0]}, {' '.join(levels)}).")
        plain = [plain[0], *(level for level in levels if level)]
    if len(plain) > len(kind.positions):
        extra = plain[len(kind.positions)]
        if kind.verb == "regress" and "~" in plain[0]:
            raise QuestionError(f"Columns right of ~ stand with +. Write regress({' + '.join(plain)}).")
        raise QuestionError(f"{kind.verb} takes one column; '{extra}' is one too many. Options are written name=value.")
    return dict(zip(kind.positions, plain, strict=False))
