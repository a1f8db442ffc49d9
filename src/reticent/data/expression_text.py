"""Reading of expressions: from a text to its tree, which ``expression_tree.write`` writes as that text again.

    age >= 65 and ward in ("north", "south")        case when nights > 2 then cost / nights else 0 end
    x is not missing         x between 0 and 9          recode(ward, "n" = "north", "s" = "south")   cut(age, 0:100:10)

From loose to tight: ``or``, ``and``, ``not``, comparisons, ``+ -``, ``* /``, a sign. A text stands in quotes. A column
whose name is no plain word stands between backticks: `hours-per-week` >= 40. One of a further table has two words:
patients.age >= 65.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Final

from reticent import calendar
from reticent.data.expression import DEEPEST, OPERATIONS, WIDEST
from reticent.data.expression_tree import (
    COMPARING,
    DATE_OTHERWISE,
    STEPS,
    WORDS,
    Application,
    ColumnName,
    DateLiteral,
    KeyLiteral,
    NumberLiteral,
    Tree,
    edges_of,
    refusal,
)
from reticent.data.format import nearest
from reticent.errors import PublicParameterError

LONGEST: Final = 20_000  # characters of a text
_TOKEN: Final = re.compile(
    r"""\s*(?:
      (?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9]{2}:[0-9]{2}(?::[0-9]{2})?)?(?![\w.]))
    | (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    | (?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    | (?P<column>`(?:[^`]|``)*`)
    | (?P<word>[^\W\d]\w*(?:\.[^\W\d]\w*)?)
    | (?P<sign><=|>=|<>|!=|==|[-+*/()<>=,:\[\]])
    )""",
    re.VERBOSE,
)
_QUOTED: Final = re.compile(r"""`(?:[^`]|``)*`|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'""")
_WORDS: Final = f"(?:{'|'.join(sorted(WORDS))})"
_ODD_NAME: Final = re.compile(rf"(?<!\w)(?!{_WORDS}\b)[^\W\d]\w*(?:(?:\.\w+){{2,}}|(?: (?!{_WORDS}\b)[^\W\d]\w*\.?)+)")
_LIKE: Final = re.compile(r"(?:(`[^`]*`|\w+) +)?(?:not +)?\b(?:i?like|rlike|glob|regexp|similar +to)\b", re.IGNORECASE)
_HINTS: Final = {
    "&": "Write and.",
    "|": "Write or.",
    "!": "Write not, or != between two values.",
    "“": "A text stands in plain quotes.",
    "„": "A text stands in plain quotes.",
    "‘": "A text stands in plain quotes.",
}
_SAME: Final = {"==": "=", "<>": "!="}
_FUNCTIONS: Final = tuple(name for name in OPERATIONS if name.isidentifier() and name not in WORDS)
INSTEAD: Final = {  # of what is no function
    "keys": "{0}(x) is a question by itself. Groups by what is found are written count by x keys=found.",
    **dict.fromkeys(("c", "factor"), "There is no {0}(g): a category stands by its name, as in regress(y ~ x + g)."),
}
OTHER_FUNCTIONS: Final = {  # of other tools and of SQL
    **dict.fromkeys(("round", "int", "integer", "bin"), "floor"),
    **dict.fromkeys(("bucket", "width_bucket", "bins", "findinterval"), "cut"),
    **dict.fromkeys(("min", "pmin"), "least"),
    **dict.fromkeys(("max", "pmax"), "greatest"),
    **dict.fromkeys(("ifnull", "nvl", "isnull"), "coalesce"),
    **dict.fromkeys(("substr", "substring"), "left"),
    **dict.fromkeys(("clip", "winsorize"), "clamp"),
    **dict.fromkeys(("map", "replace", "decode"), "recode"),
    **dict.fromkeys(("tolower", "lcase"), "lower"),
    **dict.fromkeys(("strip", "trimws"), "trim"),
    **dict.fromkeys(("dayofweek", "dow", "wday"), "weekday"),
    **dict.fromkeys(("date_trunc", "truncate"), "trunc"),
    "ln": "log",
}


def read(text: str) -> Tree:
    """The tree of a text.

    Raises
    ------
    QuestionError
        A text that is none, with the place where reading stopped.
    """
    if not isinstance(text, str):
        raise refusal(f'A condition is text, such as "age >= 65", or made of rt.col("age"); got {type(text).__name__}.')
    if len(text) > LONGEST:
        raise refusal(f"An expression has at most {LONGEST:,} characters.")
    reader = _Reader(text)
    found = reader.disjunction()
    reader.end()
    return found


class _Reader:
    """Tokens of one text, read from the left."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _tokens(text)
        self.place = 0
        self.depth = 0

    # --- tokens -------------------------------------------------------------------------------------------------------

    def sees(self, *words: str) -> bool:
        """Tell if these signs or words stand next."""
        ahead = self.tokens[self.place : self.place + len(words)]
        return [token if kind == "sign" else token.lower() for kind, token in ahead if kind in ("sign", "word")] == [
            *words
        ]

    def takes(self, *words: str) -> bool:
        if self.sees(*words):
            self.place += len(words)
            return True
        return False

    def expects(self, sign: str) -> None:
        if not self.takes(sign):
            raise self.stop(f"{sign} is expected")

    def opens(self) -> str:
        """The sign that closes the list that opens here, round or square; empty where none does."""
        return next((closing for opening, closing in ("()", "[]") if self.takes(opening)), "")

    def end(self) -> None:
        if self.place < len(self.tokens):
            raise self.stop("the expression should end")

    def stop(self, why: str) -> Exception:
        where = f"before {self.tokens[self.place][1]}" if self.place < len(self.tokens) else "at its end"
        return refusal(f"'{self.text.strip()}' cannot be read {where}: {why}.{_hint(self.text)}")

    # --- from loose to tight ------------------------------------------------------------------------------------------

    def disjunction(self) -> Tree:
        self.depth += 1
        if self.depth > DEEPEST:
            raise refusal(f"An expression has at most {DEEPEST} levels.")
        found = self._joined(self.conjunction, "or")
        self.depth -= 1
        return found

    def conjunction(self) -> Tree:
        return self._joined(self.negation, "and")

    def _joined(self, part: Callable[[], Tree], word: str) -> Tree:
        found = [part()]
        while self.takes(word):
            found.append(part())
        return found[0] if len(found) == 1 else Application(word, tuple(found))

    def negation(self) -> Tree:
        if self.takes("not"):
            self.depth += 1
            if self.depth > DEEPEST:
                raise refusal(f"An expression has at most {DEEPEST} levels.")
            found = Application("not", (self.negation(),))
            self.depth -= 1
            return found
        return self.comparison()

    def comparison(self) -> Tree:
        left = self.sum()
        for sign in ("==", "<>", *COMPARING):
            if self.takes(sign):
                found = Application(_SAME.get(sign, sign), (left, self.sum()))
                if any(self.sees(other) for other in ("==", "<>", *COMPARING)):
                    raise self.stop("write x >= 0 and x < 9, or x between 0 and 9")
                return found
        if self.sees("is", "null") or self.sees("is", "not", "null"):
            raise self.stop("write x is missing, or x is not missing")
        if self.takes("is", "missing"):
            return Application("is missing", (left,))
        if self.takes("is", "not", "missing"):
            return Application("not", (Application("is missing", (left,)),))
        if self.takes("in"):
            return Application("in", (left, *self._listed()))
        if self.takes("not", "in"):
            return Application("not", (Application("in", (left, *self._listed())),))
        if self.takes("between"):
            return self._range(left)
        if self.takes("not", "between"):
            return Application("not", (self._range(left),))
        return left

    def _range(self, x: Tree) -> Tree:
        low = self.sum()
        self.expects("and")
        return Application("and", (Application(">=", (x, low)), Application("<=", (x, self.sum()))))

    def _listed(self) -> list[Tree]:
        closing = self.opens()
        if not closing:
            raise self.stop("( is expected")
        if self.takes(closing):
            raise refusal("in () is true of nobody: list one value or more.")
        found = [self.sum()]
        while self.takes(","):
            found.append(self.sum())
        self.expects(closing)
        return found

    def sum(self) -> Tree:
        return self._chain(self.product, "+", "-")

    def product(self) -> Tree:
        return self._chain(self.signed, "*", "/")

    def signed(self) -> Tree:
        if self.takes("+"):
            return self.signed()
        if not self.takes("-"):
            return self.single()
        match self.signed():
            case NumberLiteral(value=value):
                return NumberLiteral(-value)
            case other:
                return Application("-", (NumberLiteral(Fraction(0)), other))

    def _chain(self, part: Callable[[], Tree], *signs: str) -> Tree:
        found = part()
        count = 0
        while (sign := next((sign for sign in signs if self.takes(sign)), None)) is not None:
            count += 1
            if count > DEEPEST:
                raise refusal(f"An expression has at most {DEEPEST} levels: shorten it, or put parts in brackets.")
            found = Application(sign, (found, part()))
        return found

    def single(self) -> Tree:
        if self.place >= len(self.tokens):
            raise self.stop("a column or a value is expected")
        kind, token = self.tokens[self.place]
        if self.takes("("):
            found = self.disjunction()
            self.expects(")")
            return found
        if kind == "sign":
            raise self.stop("a column or a value is expected")
        self.place += 1
        match kind:
            case "number":
                return NumberLiteral(_number(token))
            case "date":
                return _date(token)
            case "text":
                return KeyLiteral(_unquoted(token))
            case "column":
                return ColumnName(token[1:-1].replace("``", "`"))
            case _:
                return self._word(token)

    def _word(self, token: str) -> Tree:
        word = token.lower()
        if word in ("true", "false"):
            return KeyLiteral(word == "true")
        if word == "case":
            return self._case()
        if self.sees("("):
            self.place += 1
            return self._call(word, token)
        if word in WORDS:
            self.place -= 1
            raise self.stop(f"a column or a value is expected. A column of that name is written `{token}`")
        return ColumnName(token)

    def _case(self) -> Tree:
        found: list[Tree] = []
        while self.takes("when"):
            found.append(self.disjunction())
            self.expects("then")
            found.append(self.disjunction())
        if not found:
            raise self.stop("when is expected")
        if not self.takes("else"):
            raise self.stop("else is expected: every case needs a value for all other rows")
        found.append(self.disjunction())
        self.expects("end")
        return Application("case", tuple(found))

    def _call(self, word: str, token: str) -> Tree:
        if word in INSTEAD:
            raise refusal(INSTEAD[word].format(token))
        if word not in _FUNCTIONS:
            near = nearest(word, _FUNCTIONS, OTHER_FUNCTIONS)
            meant = f" Did you mean {near}?" if near else ""
            raise refusal(f"There is no function '{token}'.{meant} Functions: {', '.join(_FUNCTIONS)}.")
        found = [self.disjunction() if word != "cut" else self.sum()]
        while not self.takes(")"):
            if word == "cut" and self.tokens[self.place : self.place + 1] and not self.sees(","):
                found += self._edges()
                continue
            self.expects(",")
            if word == "cut":
                found += self._several_edges()
            elif word == "recode":
                found += self._pair()
            else:
                found.append(self.disjunction())
        if word == "floor" and len(found) == 1:
            found.append(NumberLiteral(Fraction(1)))
        return Application(word, tuple(found))

    def _pair(self) -> list[Tree]:
        old = self.sum()
        self.expects("=")
        return [old, self.sum()]

    def _several_edges(self) -> list[Tree]:
        """Edges in brackets of their own, or one after the other."""
        closing = self.opens()
        found = self._edges()
        while closing and not self.takes(closing):
            self.takes(",")
            found += self._edges()
        return found

    def _edges(self) -> list[Tree]:
        """One edge, or those of a range ``low:high:step``."""
        first = self._edge()
        if not self.takes(":"):
            return [NumberLiteral(first)]
        last = self._edge()
        self.expects(":")
        step = self._edge()
        if step <= 0 or not first < last or (last - first) / step > STEPS:
            raise refusal(f"edges low:high:step rise, and are at most {STEPS:,}: cut(age, 0:100:10).")
        return [*map(NumberLiteral, edges_of(first, last, step))]

    def _edge(self) -> Fraction:
        match self.signed():
            case NumberLiteral(value=value):
                return value
            case DateLiteral():
                raise refusal('cut takes numbers. Groups of a date are periods: trunc(x, "month"), or year(x).')
            case _:
                raise self.stop("edges are public numbers")


def _tokens(text: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    place, end = 0, len(text.rstrip())
    while place < end:
        match = _TOKEN.match(text, place)
        if match is None or match.lastgroup is None:
            rest = text[place:].strip()
            hint = next((f" {words}" for sign, words in _HINTS.items() if rest.startswith(sign)), "")
            raise refusal(f"'{text.strip()}' cannot be read at {rest[:12]!r}.{hint or _hint(text)}")
        found.append((match.lastgroup, match.group(match.lastgroup)))
        if len(found) > 4 * WIDEST:
            raise refusal(f"An expression has at most {WIDEST:,} parts.")
        place = match.end()
    return found


def _hint(text: str) -> str:
    """A hint for a text that cannot be read: a date of another spelling, or a name of several words."""
    bare = _QUOTED.sub(" ", text)
    if DATE_OTHERWISE.search(bare):
        return " A date is written 2024-02-29."
    if found := _LIKE.search(bare):
        g = found[1] or "g"
        return f' There is no like. Write the texts, {g} in ("a", "b"), or how they begin: left({g}, 1) = "a".'
    if found := _ODD_NAME.search(bare):
        return f" A name with other signs stands in backticks: `{found.group().strip()}`."
    return ""


def _date(token: str) -> DateLiteral:
    try:
        seconds, step = calendar.seconds(token)
    except PublicParameterError:
        raise refusal(f"There is no {token}. Subtract numbers with blanks: 2024 - 10 - 11.") from None
    return DateLiteral(seconds // step, step)


def _number(token: str) -> Fraction:
    mantissa, _, exponent = token.lower().partition("e")
    if len(mantissa) > 320 or len(exponent) > 4:
        raise refusal("A number of an expression lies within 1e300 of zero.")
    return Fraction(token)


def _unquoted(token: str) -> str:
    return re.sub(r"\\(.)", r"\1", token[1:-1], flags=re.DOTALL)
