"""The SQL of Spark: what its compiler in Ibis writes, with what Spark would compute otherwise put right.

No text holds a backslash or a quote, which sessions read in two ways: such a literal is ``decode(unhex())``. ``strip``
trims its six characters, where Ibis's escapes make Spark trim the letters v and f. Patterns are Java's, whose ``$``
matches before a last line end. A missing double is null and never NaN. Timestamps have no zone, so that no answer
depends on that of the session. Tables stand in a name space that a run fills in, since the session may be somebody's.
"""

from __future__ import annotations

import string
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from reticent.errors import ReticentError

SPACE: Final = "reticent_stands_here_"  # before the name of every table; a session puts its own in place
EPOCH: Final = "1970-01-01 00:00:00"
PLAIN: Final = frozenset(string.printable) - frozenset("\\'\"\t\n\r\v\f")
LIMB: Final = 1 << 21
ALONE: Final = "the sum as one function, since a window may stand behind it"
PERIODS: Final = {"W": "WEEK", "M": "MM", "Q": "QUARTER", "Y": "YEAR"}


@dataclass(frozen=True, slots=True)
class SparkDialect:
    """Its SQL, without a connection."""

    def write(self, expression: Any) -> str:
        """The text of an Ibis expression."""
        return str(_compiler().to_sqlglot(expression.unbind()).sql(dialect="spark", pretty=True))


SPARK_SQL: Final = SparkDialect()


def limbs(whole: Any) -> list[Any]:
    """Three parts of a 64-bit integer, of which it is ((first) 2^21 + second) 2^21 + third.

    Sums of each fit 64 bits up to 2^41 rows, whatever the integers are.
    """
    import sqlglot as sg
    import sqlglot.expressions as sge

    low = sg.parse_one(f"{LIMB - 1}L", dialect="spark")
    shifted = [sge.Anonymous(this="shiftright", expressions=[whole.copy(), sge.convert(by)]) for by in (42, 21)]
    lower = [sge.paren(sge.BitwiseAnd(this=sge.paren(part), expression=low.copy())) for part in (shifted[1], whole)]
    return [shifted[0], *lower]


def java_pattern(pattern: str) -> str:
    """A regular expression of this package as Java reads it."""
    found = pattern.replace("[:cntrl:]", r"\p{Cntrl}")
    return found[:-1] + r"\z" if found.endswith("$") and not found.endswith(r"\$") else found


@lru_cache(maxsize=1)
def _compiler() -> Any:
    """The compiler; made late, since importing Ibis takes a second."""
    import ibis.expr.datatypes as dt
    import ibis.expr.operations as ops
    import sqlglot as sg
    import sqlglot.expressions as sge
    from ibis.backends.sql.compilers.base import NULL, SQLGlotCompiler
    from ibis.backends.sql.compilers.pyspark import PySparkCompiler
    from ibis.backends.sql.datatypes import PySparkType

    wall = sge.DataType(this=sge.DataType.Type.USERDEFINED, kind="TIMESTAMP_NTZ")

    class SparkTypes(PySparkType):  # type: ignore[misc]
        """Its types; a timestamp never has a zone."""

        @classmethod
        def from_ibis(cls, dtype: Any) -> Any:
            return wall if dtype.is_timestamp() else super().from_ibis(dtype)

    def text(value: str) -> Any:
        if PLAIN.issuperset(value):
            return sge.convert(value)
        return sg.func("decode", sg.func("unhex", sge.convert(value.encode().hex())), sge.convert("UTF-8"))

    def pattern(op: Any) -> Any:
        return text(java_pattern(op.pattern.value))

    class SparkCompiler(PySparkCompiler):  # type: ignore[misc]
        """Statements of the plan as Spark runs them."""

        __slots__ = ()
        type_mapper = SparkTypes

        def visit_UnboundTable(self, op: Any, *, name: str, **_: Any) -> Any:
            return sge.Table(this=sg.to_identifier(SPACE + name, quoted=True))

        def visit_NonNullLiteral(self, op: Any, *, value: Any, dtype: Any) -> Any:
            if dtype.is_string():
                return text(value)
            if dtype.is_timestamp():
                return self.cast(value.isoformat(sep=" "), dtype)
            if dtype.is_integer():
                return self.cast(value, dtype)
            return SQLGlotCompiler.visit_NonNullLiteral(self, op, value=value, dtype=dtype)

        def visit_Field(self, op: Any, *, rel: Any, name: str) -> Any:
            return SQLGlotCompiler.visit_Field(self, op, rel=rel, name=name)

        def visit_IsNull(self, op: Any, *, arg: Any) -> Any:
            return arg.is_(NULL)

        def visit_NotNull(self, op: Any, *, arg: Any) -> Any:
            return arg.is_(sg.not_(NULL))

        def visit_Strip(self, op: Any, *, arg: Any) -> Any:
            return self.f.anon.btrim(arg, text(string.whitespace))

        def visit_RegexSearch(self, op: Any, **operands: Any) -> Any:
            return self.f.anon.regexp_like(operands["arg"], pattern(op))

        def visit_RegexExtract(self, op: Any, **operands: Any) -> Any:
            return self.f.anon.regexp_extract(operands["arg"], pattern(op), operands["index"])

        def visit_Substring(self, op: Any, *, arg: Any, start: Any, length: Any) -> Any:
            ends = () if length is None else (length,)  # of a null there would be none of any text
            return self.f.anon.substring(arg, sge.convert(op.start.value + 1), *ends)

        def visit_ScalarUDF(self, op: Any, **operands: Any) -> Any:
            if op.__func_name__ == "hexadecimal":
                return self.cast(self.f.anon.conv(*operands.values(), sge.convert(16), sge.convert(10)), dt.int64)
            if op.__func_name__ != "timezone":
                raise ReticentError(f"Spark knows no {op.__func_name__}")
            zone, moment = operands.values()
            zones = (zone, text("UTC")) if op.dtype.timezone else (text("UTC"), zone)
            return self.f.anon.convert_timezone(*zones, moment)

        @staticmethod
        def _minimize_spec(op: Any, spec: Any) -> Any:
            return None if isinstance(op.func, ops.Lag) else spec  # the row some rows before has no frame here

        def visit_Lag(self, op: Any, *, arg: Any, offset: Any, default: Any) -> Any:
            return self.f.anon.lag(arg, sge.convert(op.offset.value))  # a plain integer: a cast one has another frame

        def visit_Sum(self, op: Any, *, arg: Any, where: Any) -> Any:
            """An exact sum of 64-bit integers, by three sums of parts: those of decimals take several times as long."""
            found = super().visit_Sum(op, arg=arg, where=where)
            if not (isinstance(op.arg, ops.Cast) and op.arg.to.is_decimal() and op.arg.arg.dtype == dt.int64):
                return found
            exact = dt.Decimal(38, 0)
            sums = [self.cast(self.agg.sum(part, where=where), exact) for part in limbs(arg.this)]
            wide = self.cast(LIMB, exact)
            total = self.cast((sums[0] * wide + sums[1]) * wide + sums[2], exact)
            total.meta[ALONE] = found
            return total

        def visit_WindowFunction(self, op: Any, *, func: Any, **operands: Any) -> Any:
            return super().visit_WindowFunction(op, func=func.meta.get(ALONE, func), **operands)

        def visit_IntervalFromInteger(self, op: Any, *, arg: Any, unit: Any) -> Any:
            return arg

        def visit_TimestampAdd(self, op: Any, *, left: Any, right: Any) -> Any:
            return self.f.anon.timestampadd(sg.to_identifier("SECOND"), right, left)

        def visit_ExtractEpochSeconds(self, op: Any, *, arg: Any) -> Any:
            start = self.cast(EPOCH, dt.timestamp)
            return self.f.anon.timestampdiff(sg.to_identifier("SECOND"), start, arg)

        def visit_ExtractWeekOfYear(self, op: Any, *, arg: Any) -> Any:
            return self.f.anon.weekofyear(arg)

        def visit_DayOfWeekIndex(self, op: Any, *, arg: Any) -> Any:
            return self.f.anon.weekday(arg)

        def visit_TimestampTruncate(self, op: Any, *, arg: Any, unit: Any) -> Any:
            day = self.cast(arg, dt.date)
            first = day if unit.short == "D" else self.f.anon.trunc(day, text(PERIODS[unit.short]))
            return self.cast(first, dt.timestamp)

        def visit_Strftime(self, op: Any, *, arg: Any, format_str: Any) -> Any:
            return self.cast(self.cast(arg, dt.date), dt.string)  # the plan asks for years, months and days

    return SparkCompiler()
