"""The SQL of PostgreSQL: what Ibis writes, with total functions where this engine would fail on a cell or round one.

An error of arithmetic, of a cast or of a date would be about a row, so none may happen: ``FUNCTIONS`` are made in the
session's temporary schema, and ``OVERRIDES`` says which operation each stands for. Texts compare and sort by their
bytes (``COLLATE "C"``), whatever the database sorts by, since the order decides which rows are kept.

A product or quotient within one part in 2^53 of half the least double counts as zero; others round as IEEE says.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any, Final

from reticent.data.engines.exponents import exponents


def _decimal(value: Fraction) -> str:
    """The decimal digits of a fraction whose denominator is a power of two, all of them."""
    places = value.denominator.bit_length() - 1
    digits = str(value.numerator * 5**places).rjust(places + 1, "0")
    return f"{digits[: len(digits) - places]}.{digits[len(digits) - places :]}" if places else digits


OVERFLOW: Final = str(2**1024 - 2**970)  # from here on a decimal is nearer to infinity than to a double
UNDERFLOW: Final = _decimal(Fraction(1, 2**1075))  # up to here it is nearer to zero
DIGITS: Final = 800  # more than ever decide to which double a decimal is nearest; one more says that some follow


def _power(exponent: int) -> str:
    return f"'{2.0**exponent!r}'::float8"


_INFINITE: Final = "'Infinity'::float8"
_UP, _DOWN, _HALF_LEAST = _power(512), _power(-512), _power(-51)

FUNCTIONS: Final = {
    "plus(a float8, b float8) RETURNS float8": f"""
        CASE WHEN abs(a) < {_power(1022)} AND abs(b) < {_power(1022)} THEN a + b
             WHEN abs(a) < {_power(900)} OR abs(b) < {_power(900)} OR abs(a) = {_INFINITE} OR abs(b) = {_INFINITE}
               THEN a + b
             WHEN abs(a * 0.5::float8 + b * 0.5::float8) >= {_power(1023)} THEN sign(a) * {_INFINITE}
             ELSE a + b END""",
    "times(a float8, b float8) RETURNS float8": f"""
        CASE WHEN abs(a) >= 1 AND abs(b) >= 1 THEN
               CASE WHEN abs((a * {_DOWN}) * (b * {_DOWN})) >= 1 THEN sign(a) * sign(b) * {_INFINITE} ELSE a * b END
             WHEN abs(a) < 1 AND abs(b) < 1 AND a <> 0 AND b <> 0 THEN
               CASE WHEN abs(a) < {_power(-600)} AND abs(b) < {_power(-600)} THEN 0
                    WHEN abs((a * {_UP}) * (b * {_UP})) <= {_HALF_LEAST} THEN 0
                    ELSE a * b END
             ELSE a * b END""",
    "over(a float8, b float8) RETURNS float8": f"""
        CASE WHEN b = 0 OR a = 0 THEN CASE WHEN b <> 0 THEN a / b WHEN a <> 0 THEN sign(a) * {_INFINITE} END
             WHEN abs(b) > 1 AND abs(a) < 1 AND abs(b) < {_INFINITE} THEN
               CASE WHEN abs((a * {_UP}) / (b * {_DOWN})) <= {_HALF_LEAST} THEN 0 ELSE a / b END
             WHEN abs(b) < 1 AND abs(a) >= {_power(-60)} THEN
               CASE WHEN abs(a) * {_DOWN} >= abs(b) * {_UP} THEN sign(a) * sign(b) * {_INFINITE} ELSE a / b END
             ELSE a / b END""",
    # a decimal 0.DIGITS times ten to ``shift``
    "scaled(digits text, shift int) RETURNS float8": f"""
        CASE WHEN digits = '' OR shift < -323 THEN 0
             WHEN shift > 309 THEN {_INFINITE}
             WHEN ('0.' || digits || 'e' || shift)::numeric >= {OVERFLOW} THEN {_INFINITE}
             WHEN ('0.' || digits || 'e' || shift)::numeric <= {UNDERFLOW} THEN 0
             ELSE ('0.' || digits || 'e' || shift)::float8 END""",
    "leading(digits text) RETURNS text": f"""
        CASE WHEN length(digits) <= {DIGITS} THEN digits
             WHEN substr(digits, {DIGITS + 1}) ~ '[1-9]' THEN left(digits, {DIGITS}) || '1'
             ELSE left(digits, {DIGITS}) END""",
    # an exponent, moved into a range that an integer holds: no cell is as long as that
    "exponent(written text) RETURNS int": """
        CASE WHEN written = '' THEN 0
             WHEN length(ltrim(written, '+-0')) > 7 THEN CASE WHEN written LIKE '-%' THEN -10000000 ELSE 10000000 END
             WHEN ltrim(written, '+-0') = '' THEN 0
             WHEN written LIKE '-%' THEN -(ltrim(written, '+-0')::int)
             ELSE ltrim(written, '+-0')::int END""",
    "unsigned(whole text, part text, written text) RETURNS float8": """
        CASE WHEN ltrim(whole, '0') <> '' THEN
               pg_temp.scaled(pg_temp.leading(ltrim(whole, '0') || part),
                              length(ltrim(whole, '0')) + pg_temp.exponent(written))
             ELSE pg_temp.scaled(pg_temp.leading(ltrim(part, '0')),
                                 length(ltrim(part, '0')) - length(part) + pg_temp.exponent(written)) END""",
    # the double a text denotes, or null
    "number(cell text) RETURNS float8": rf"""
        CASE WHEN cell ~ '^[+-]?[0-9]{{1,15}}(\.[0-9]{{1,15}})?$' THEN cell::float8
             WHEN cell ~ '^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$' THEN
               CASE WHEN cell LIKE '-%' THEN -1 ELSE 1 END::float8
               * pg_temp.unsigned(substring(cell FROM '^[+-]?([0-9]*)'),
                                  coalesce(substring(cell FROM '\.([0-9]*)'), ''),
                                  coalesce(substring(cell FROM '[eE]([+-]?[0-9]+)$'), ''))
             WHEN cell ~* '^[+]?inf(inity)?$' THEN {_INFINITE}
             WHEN cell ~* '^-inf(inity)?$' THEN -{_INFINITE} END""",
    # a timestamp of year-month-day hour:minute:second, or null where no calendar has such a day
    "moment(y int, m int, d int, h int, mi int, s int) RETURNS timestamp": """
        CASE WHEN y BETWEEN 1 AND 9999 AND m BETWEEN 1 AND 12 AND h BETWEEN 0 AND 23 AND mi BETWEEN 0 AND 59
                  AND s BETWEEN 0 AND 59 AND d >= 1
             THEN CASE WHEN d <= extract(day FROM make_date(y, m, 1) + interval '1 month' - interval '1 day')
                       THEN make_timestamp(y, m, d, h, mi, s) END END""",
    "moment(cell text) RETURNS timestamp": r"""
        CASE WHEN cell ~ '^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2} [0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}$'
             THEN pg_temp.moment(split_part(cell, '-', 1)::int, split_part(cell, '-', 2)::int,
                                 split_part(split_part(cell, '-', 3), ' ', 1)::int,
                                 split_part(split_part(cell, ' ', 2), ':', 1)::int,
                                 split_part(cell, ':', 2)::int, split_part(cell, ':', 3)::int) END""",
    # the shortest text of a double, as Python and DuckDB write it
    "spelt(x float8) RETURNS text": f"""
        CASE WHEN abs(x) = {_INFINITE} THEN CASE WHEN x > 0 THEN 'inf' ELSE '-inf' END
             WHEN abs(x) >= 1e15 AND abs(x) < 1e16 THEN
               CASE WHEN x = floor(x) THEN x::text::numeric::text || '.0' ELSE x::text::numeric::text END
             WHEN abs(x) < 1e15 AND x = floor(x) THEN x::text || '.0'
             ELSE x::text END""",
    "part(cell text, pattern text, nth int) RETURNS text": """
        CASE WHEN cell IS NOT NULL THEN coalesce((regexp_match(cell, pattern))[nth], '') END""",
    "digest(told text) RETURNS text": """encode(sha256(convert_to(told, 'UTF8')), 'hex')""",
    "hexadecimal(digits text) RETURNS bigint": """('x' || lpad(digits, 16, '0'))::bit(64)::bigint""",
}


def definitions() -> list[str]:
    """Statements that make the functions, each after those it uses.

    PL/pgSQL keeps the expression of a function ready. A function in SQL whose argument is a call is not inlined, and
    was made ready for each cell: at 50,000 rows that took four fifths of the main job.
    """
    made = "LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE"
    return [
        f"CREATE FUNCTION pg_temp.{head} {made} AS $body$ BEGIN RETURN {body.strip()}; END $body$"
        for head, body in FUNCTIONS.items()
    ]


@dataclass(frozen=True, slots=True)
class PostgresDialect:
    """Its SQL, with the overrides."""

    def write(self, expression: Any) -> str:
        """The text of an Ibis expression."""
        made = _compiler()
        return str(made.to_sqlglot(expression.unbind()).sql(dialect=made.dialect))


POSTGRES: Final = PostgresDialect()


@cache
def _compiler() -> Any:
    """Ibis's compiler for this engine, with the overrides; made when it is first needed, since Ibis is slow to load."""
    from ibis.backends.sql.compilers.postgres import PostgresCompiler

    made: Any = type("PostgresOverrides", (PostgresCompiler,), {"__slots__": ()})
    for name, visit in OVERRIDES.items():  # after the class is made, which puts Ibis's own in the place of some
        setattr(made, name, visit)
    return made()


def _call(name: str, *arguments: Any) -> Any:
    import sqlglot.expressions as sge

    return sge.Anonymous(this=f"pg_temp.{name}", expressions=list(arguments))


def _by_bytes(text: Any) -> Any:
    import sqlglot.expressions as sge

    return sge.Collate(this=sge.paren(text, copy=False), expression=sge.to_identifier("C", quoted=True))


def _arithmetic(total: str, plain: str) -> Callable[..., Any]:
    """A total function of doubles; the engine's own operation where the plan keeps within range, as of integers."""

    def visit(self: Any, op: Any, *, left: Any, right: Any) -> Any:
        import sqlglot.expressions as sge

        if op.dtype.is_floating() and exponents(op) is None:
            return _call(total, left, right)
        return self.binop(getattr(sge, plain), left, right)

    return visit


def _difference(self: Any, op: Any, *, left: Any, right: Any) -> Any:
    import sqlglot.expressions as sge

    if op.dtype.is_floating() and exponents(op) is None:
        return _call("plus", left, sge.Neg(this=sge.paren(right, copy=False)))
    return self.binop(sge.Sub, left, right)


def _cast(self: Any, op: Any, *, arg: Any, to: Any) -> Any:
    if op.arg.dtype.is_floating() and to.is_string():
        return _call("spelt", arg)
    found = super(type(self), self).visit_Cast(op, arg=arg, to=to)
    return _by_bytes(found) if to.is_string() else found


def _try_cast(self: Any, op: Any, *, arg: Any, to: Any) -> Any:
    if op.arg.dtype.is_string() and to.is_floating():
        return _call("number", arg)
    if op.arg.dtype.is_string() and to.is_timestamp():
        return _call("moment", arg)
    raise TypeError(f"no total cast from {op.arg.dtype} to {to}")


def _digest(self: Any, op: Any, *, arg: Any, how: Any) -> Any:
    if how != "sha256":
        raise TypeError(f"no digest {how}")
    return _by_bytes(_call("digest", arg))


def _scalar(self: Any, op: Any, **operands: Any) -> Any:
    if op.__func_name__ == "hexadecimal":
        return _call("hexadecimal", *operands.values())
    return super(type(self), self).visit_ScalarUDF(op, **operands)


def _joined(self: Any, op: Any, *, arg: Any) -> Any:
    """Texts side by side; null where one is, which ``concat`` leaves out."""
    import sqlglot.expressions as sge

    found, *others = arg
    for other in others:
        found = sge.DPipe(this=found, expression=other)
    return sge.paren(found, copy=False)


def _sort_key(self: Any, op: Any, *, arg: Any, ascending: bool, nulls_first: bool) -> Any:
    import sqlglot.expressions as sge

    by = _by_bytes(arg) if op.arg.dtype.is_string() else arg
    return sge.Ordered(this=by, desc=not ascending, nulls_first=nulls_first)


def _sum(self: Any, op: Any, *, arg: Any, where: Any) -> Any:
    """The sum; of 64-bit integers in the engine's own 128 bits, and not in decimals one by one."""
    import ibis.expr.operations as ops

    if (
        isinstance(op.arg, ops.Cast)
        and op.arg.arg.dtype.is_integer()
        and op.arg.to.is_decimal()
        and not op.arg.to.scale
    ):
        arg = arg.this
    return self.agg.sum(arg, where=where)


def _aggregate(self: Any, op: Any, *, parent: Any, groups: Any, metrics: Any) -> Any:
    """An aggregate of rows that are made ready first, and sorted where whole numbers stand for persons.

    The server merges a select into the one around it, and computes a term anew wherever that names it. It leaves apart
    what has an order or an offset. It would gather persons in a hash table, which no cache holds: a sort of whole
    numbers takes half as long for many persons, and little more for few.
    """
    import sqlglot as sg
    import sqlglot.expressions as sge

    by_person = list(groups) == ["who"] and op.groups["who"].dtype.is_integer()
    inner = parent.this if isinstance(parent, sge.Subquery) else None
    plain = all(isinstance(one.unalias(), sge.Column | sge.Star) for one in getattr(inner, "selects", ()))
    read = dict.fromkeys(
        one.name for term in (*groups.values(), *metrics.values()) for one in term.find_all(sge.Column)
    )
    if read and (by_person or not plain):
        rows = sg.select(*(sge.column(name, quoted=True) for name in read)).from_(parent)
        rows = rows.order_by(sge.column("who", quoted=True)) if by_person else rows.offset(0)
        parent = rows.subquery(sge.to_identifier(parent.alias_or_name, quoted=True))
    return super(type(self), self).visit_Aggregate(op, parent=parent, groups=groups, metrics=metrics)


def _least(self: Any, op: Any, *, arg: Any, where: Any) -> Any:
    return self.agg.min(_by_bytes(arg) if op.arg.dtype.is_string() else arg, where=where)


def _pattern(pattern: Any) -> Any:
    """A regular expression with characters by number as this engine writes them."""
    import sqlglot.expressions as sge

    text = re.sub(r"\\x\{([0-9a-fA-F]{1,4})\}", lambda found: rf"\u{int(found[1], 16):04x}", str(pattern.this))
    return sge.Literal.string(text)


def _search(self: Any, op: Any, *, arg: Any, pattern: Any) -> Any:
    return arg.rlike(_pattern(pattern))


def _extract(self: Any, op: Any, *, arg: Any, pattern: Any, index: Any) -> Any:
    """A group of a pattern; an empty text where the text has no such group, null where there is no text."""
    return _call("part", arg, _pattern(pattern), index)


OVERRIDES: Final[dict[str, Callable[..., Any]]] = {
    "visit_Add": _arithmetic("plus", "Add"),
    "visit_Subtract": _difference,
    "visit_Multiply": _arithmetic("times", "Mul"),
    "visit_Divide": _arithmetic("over", "Div"),
    "visit_Cast": _cast,
    "visit_TryCast": _try_cast,
    "visit_HexDigest": _digest,
    "visit_ScalarUDF": _scalar,
    "visit_StringConcat": _joined,
    "visit_SortKey": _sort_key,
    "visit_Sum": _sum,
    "visit_Aggregate": _aggregate,
    "visit_Min": _least,
    "visit_RegexSearch": _search,
    "visit_RegexExtract": _extract,
}
