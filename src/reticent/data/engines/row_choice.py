"""Choice of the rows that count: at most so many of a person, in at most so many groups, as engine expressions.

    typed --over--> persons with more rows than ``few``, with their size and two numbers drawn by the key
    over  --numbered--> their rows, in order: which of them count, and with groups which of these do
    base   = rows of all other persons, and the numbered ones                            (a view: nothing is copied)
    groups = keyed rows of all other persons, and the numbered ones in groups that count
    parts  = these two apart: sums are taken of each and added up, since no person is in both

The rows of a person lie on a ring, in the order of their values, from a keyed place on. The ring is cut into as many
stretches as rows may count. They are alike but for one row, and of each stretch one row counts, at a keyed place
(``on_ring``). So each row has the same chance, rows near to each other seldom count together, and no period in the
values is met. Groups are chosen in the same way, in the order in which they are asked for.

One digest a person is taken: sha256(key, person). Rows are sorted once, by person. Persons with few rows are neither
hashed nor sorted: all of their rows count, in all of their groups. Which persons have many depends on their own rows
alone, so the choice stays inside one person.

Public keys come as a small table beside the rows, "keys0" and so on, with the place of each among those asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

import ibis
import numpy as np

from reticent.data.columns import numbers, texts
from reticent.data.engines.casts import clamp, double, key_text, with_stand_in
from reticent.data.engines.engine import Names
from reticent.data.query import Keys, Of, groups_of_all, groups_of_kept
from reticent.data.schema import EXACT_DOUBLE, Category, Integer, Schema, Text

if TYPE_CHECKING:
    import pyarrow as pa

Table: TypeAlias = Any  # Ibis is not typed; these never leave ``plan`` but as SQL text
Expr: TypeAlias = Any
Who: TypeAlias = Literal["string", "int64"]
Chosen: TypeAlias = Callable[[Table], Expr] | None  # tells the rows that count; None for all

TURN: Final = "int8"
KEY_STAND_IN: Final = "the key goes here, 1f0e9d8c7b6a5948"
DIGITS: Final = 13  # hexadecimal ones of a drawn number, which is below 2^52
STEPS: Final = (1 << 31) - 1  # two primes, by which a drawn number gives two that are near to independent
SHIFTS: Final = (1 << 29) - 3
PLACE: Final = "int32"  # of places that rows are sorted by


class Part(NamedTuple):
    """Some of the rows, those of them that are kept, and those of them that are in totals; None for all."""

    rows: Table
    kept: Chosen = None
    every: Chosen = None


def _counts(rows: Table) -> Expr:
    return rows.turn < 1


@dataclass(frozen=True, slots=True)
class RowChoice:
    """Expressions over the typed rows of the used columns; ``who`` is the engine type of persons.

    Persons with at most ``few`` rows are left as they are. ``totals`` are the lists of groups, by their numbers, in
    which totals of all rows are asked for. ``grouping`` is a column that is read for the first of these lists and for
    nothing else: rows of one place are alike whatever it holds, so they are not sorted by it.
    """

    schema: Schema
    used: tuple[str, ...]
    who: Who = "string"
    few: int = 0
    totals: tuple[tuple[int, Keys], ...] = ()
    grouping: str = ""

    @property
    def names(self) -> Names:
        return Names(self.schema, self.used)

    @property
    def columns(self) -> list[str]:
        """Plain names of the used columns."""
        names = self.names
        return [names[name] for name in self.used]

    @property
    def shape(self) -> dict[str, str]:
        """Engine types of the typed rows."""
        declared = self.schema.cells
        found = {
            column: "string" if isinstance(declared[name], Category | Text) else "float64"
            for name, column in zip(self.used, self.columns, strict=True)
        }
        return found if self.schema.person.column is None else {"who": self.who, **found}

    # --- rows of a person ---------------------------------------------------------------------------------------------

    @property
    def typed(self) -> Table:
        return ibis.table({**self.shape, "turn": TURN}, name="typed")

    @property
    def drawn(self) -> Table:
        """The persons with many rows, as a table that stands."""
        return ibis.table({"who": self.who, "size": "int64", "row_draw": "int64", "group_draw": "int64"}, name="over")

    @property
    def many(self) -> Table:
        """Their rows, numbered, as a table that stands."""
        lists = {f"place{nth}": PLACE for nth, _ in self.totals}
        flags = {f"{flag}{nth}": "boolean" for nth, _ in self.totals for flag in ("inside", "heavy")}
        return ibis.table({**self.shape, "turn": TURN, **lists, **flags}, name="numbered")

    def over(self) -> Table:
        """Persons with many rows, how many, and two numbers that the key draws for each."""
        sizes = self.typed.group_by("who").aggregate(size=self.typed.count())
        sizes = sizes.filter(sizes["size"] > self.few)
        told = ibis.literal(f"person:{KEY_STAND_IN}:") + sizes.who.cast("string")
        sizes = sizes.mutate(digest=told.hexdigest("sha256"))
        draws = {name: drawn(sizes.digest, nth) for nth, name in enumerate(("row_draw", "group_draw"))}
        return sizes.select("who", "size", **draws)

    def numbered(self) -> Table:
        """Rows of these persons: ``turn`` 0 if they count, and of each list of groups their place, and more.

        ``inside`` is true of a place if the group is one in which the person counts. ``heavy`` is true of at least
        one row of each group in which the person has more rows than the cap. What is known of a person is joined
        after the rows are sorted, and places are short: a sort takes time and memory by the width of its rows.
        """
        cap = self.schema.person.rows
        rows = self.typed.drop("turn").semi_join(self.drawn, "who")
        for nth, keys in self.totals:
            rows = self.placed(rows, keys, nth, "left", f"place{nth}")
            rows = rows.mutate(**{f"place{nth}": rows[f"place{nth}"].cast(PLACE)})
        # the places of the first list go before the values, so that one sort serves both
        first = [rows[f"place{nth}"] for nth, _ in self.totals[:1]]
        order = [*first, *(rows[self.names[name]] for name in self.used if name != self.grouping)] or [rows.who]
        found = {"nth": ibis.row_number().over(group_by="who", order_by=order)}
        for at, (nth, _) in enumerate(self.totals):
            place = rows[f"place{nth}"]
            by = order if at == 0 else [place]
            found[f"heavy{nth}"] = (place.lag(cap).over(group_by="who", order_by=by) == place).fill_null(False)
            found[f"group{nth}"] = ibis.dense_rank().over(group_by="who", order_by=place)
        rows = self._with_persons(rows.mutate(**found))
        left_out = ~on_ring(rows.nth, rows.row_ring, cap, rows.row_draw)
        turn = left_out.cast("int32").cast(TURN)
        lists = {f"place{nth}": rows[f"place{nth}"] for nth, _ in self.totals}
        lists |= {f"inside{nth}": self._inside(rows, keys, nth) for nth, keys in self.totals}
        lists |= {f"heavy{nth}": rows[f"heavy{nth}"] for nth, _ in self.totals}
        return rows.select("who", *self.columns, turn=turn, **lists)

    def _with_persons(self, rows: Table) -> Table:
        """Rows with what is known of their person, and its number of groups: an aggregate is cheaper than a window."""
        persons = self.drawn
        most = {nth: bound for nth, keys in self.totals if (bound := self.bound(keys, "all")) is not None}
        found = {f"groups{nth}": _up_to(rows[f"group{nth}"], rows[f"place{nth}"]).max() for nth in most}
        if found:
            persons = persons.inner_join(rows.group_by("who").aggregate(**found), "who")
        rings = {f"ring{nth}": ring_of(persons[f"groups{nth}"], bound) for nth, bound in most.items()}
        row_ring = ring_of(persons["size"], self.schema.person.rows)
        persons = persons.select("who", "row_draw", "group_draw", row_ring=row_ring, **rings)
        return rows.inner_join(persons, "who")

    def _inside(self, rows: Table, keys: Keys, nth: int) -> Expr:
        most = self.bound(keys, "all")
        if most is None:
            return ibis.literal(True)
        return on_ring(rows[f"group{nth}"], rows[f"ring{nth}"], most, rows.group_draw)

    def base(self) -> Table:
        """All rows; ``turn`` is 0 if they count."""
        rows = self.of_few(self.typed)
        return rows.union(self.many.select(*rows.columns), distinct=False)

    def rows(self, of: Of) -> Table:
        """The rows of the base table, all of them or the kept ones."""
        rows = ibis.table({**self.shape, "turn": TURN}, name="base")
        return rows.filter(rows.turn < 1) if of == "kept" and "who" in self.shape else rows

    def of_few(self, rows: Table) -> Table:
        """Those of the rows whose person has few."""
        return rows.anti_join(self.drawn, "who")

    # --- groups of a person -------------------------------------------------------------------------------------------

    def placed(
        self, rows: Table, keys: Keys, nth: int, how: Literal["inner", "left"] = "inner", name: str = "place"
    ) -> Table:
        """Rows with the place of their group; those in none are left out, or have no place.

        Parameters
        ----------
        rows : Table
        keys : Keys
            Public groups of one column.
        nth : int
            Number of these groups among those of a run, which names their table.
        how : "inner" or "left"
            Whether rows in no group are left out.
        name : str
            Of the new column.

        Returns
        -------
        Table
            The rows with one more column.
        """
        column = self.schema.columns[keys.column]
        whole = isinstance(column, Integer)
        x = with_stand_in(rows[self.names[keys.column]], column)
        if whole:
            x = clamp(x, -float(EXACT_DOUBLE), float(EXACT_DOUBLE)).floor().cast("int64")
        among = ibis.table({"listed": "int64" if whole else "string", "place": "int64"}, name=f"keys{nth}")
        among = among.rename({name: "place"}) if name != "place" else among
        rows = rows.mutate(key=x)
        rows = (
            rows.inner_join(among, rows.key == among.listed)
            if how == "inner"
            else rows.left_join(among, rows.key == among.listed)
        )
        return rows.drop("listed", "key")

    def bound(self, keys: Keys, of: Of) -> int | None:
        """Most groups in which a person counts, None where nobody can be in more."""
        person = self.schema.person
        if person.column is None or self.schema.columns[keys.column].constant:
            return None
        if of == "all":
            most = groups_of_all(person, keys)
            return most if most < len(keys.among) else None
        most = groups_of_kept(person, keys)
        return most if most < min(person.rows, len(keys.among)) else None

    def chosen(self, keys: Keys, nth: int) -> Table:
        """Kept rows of persons with many, in the groups in which the person counts."""
        most, rows = self.bound(keys, "kept"), self.many
        assert most is not None
        rows = rows.filter(rows.turn < 1).select("who", *self.columns, "turn")
        rows = self.placed(rows, keys, nth).inner_join(self.drawn.select("who", "group_draw"), "who")
        return in_few_groups(rows, "place", most).select("who", *self.columns, "turn", "place")

    def grouped(self, keys: Keys, nth: int) -> Table:
        """Kept rows in one of the groups in which their person counts, with its place.

        Parameters
        ----------
        keys : Keys
            Public groups of one column.
        nth : int
            Number of these groups among those of a run.

        Returns
        -------
        Table
            Rows with the column ``place``.
        """
        if self.bound(keys, "kept") is None:
            return self.placed(self.rows("kept"), keys, nth)
        few = self.placed(self.of_few(self.typed), keys, nth)
        return few.union(self._chosen(nth).select(*few.columns), distinct=False)

    def parts(self, keys: Keys | None, nth: int, in_totals: bool) -> list[Part]:
        """Rows to sum up, in one part or two: rows of persons with few, and those of persons with many.

        All rows of a person with few count, in all groups, so nothing is asked of each row there. No person is in both.

        Parameters
        ----------
        keys : Keys or None
            Public groups of one column; their place is a column of each part.
        nth : int
            Number of these groups among those of a run.
        in_totals : bool
            True if totals of all rows are asked for, beside numbers of the kept ones.

        Returns
        -------
        list of Part
        """
        if self.schema.person.column is None:
            rows = self.rows("all")
            return [Part(rows if keys is None else self.placed(rows, keys, nth))]
        few, many = self.of_few(self.typed), self.many
        if keys is not None:
            few = self.placed(few, keys, nth)
        if in_totals and keys is None:
            return [Part(few), Part(many, _counts)]
        if in_totals:
            place, inside = many[f"place{nth}"], many[f"inside{nth}"]
            many = many.filter(place.notnull() & (inside | _counts(many)))
            many = many.select("who", *self.columns, "turn", place=place.cast("int64"), inside=inside)
            return [Part(few), Part(many, _counts, lambda rows: rows.inside)]
        if keys is not None and self.bound(keys, "kept") is not None:
            return [Part(few), Part(self._chosen(nth))]
        many = many.filter(_counts(many)).select(*self.typed.columns)
        return [Part(few), Part(many if keys is None else self.placed(many, keys, nth))]

    def _chosen(self, nth: int) -> Table:
        return ibis.table({**self.shape, "turn": TURN, "place": "int64"}, name=f"chosen{nth}")

    def heavy(self, nth: int) -> Table:
        """Persons and groups in which they count with more rows than the cap."""
        rows = self.many.filter(self.many[f"inside{nth}"] & self.many[f"heavy{nth}"])
        return rows.select(heavy_who=rows.who, heavy_place=rows[f"place{nth}"].cast("int64")).distinct()


@ibis.udf.scalar.builtin(name="hexadecimal", signature=(("string",), "int64"))  # type: ignore[untyped-decorator]
def _hexadecimal(digits: str) -> int:  # type: ignore[empty-body]  # the dialect of an engine writes it
    """The integer of some hexadecimal digits."""


def drawn(digest: Expr, nth: int) -> Expr:
    """A number below 2^52, of the ``nth`` thirteen digits of a digest."""
    return _hexadecimal(digest.substr(nth * DIGITS, DIGITS))


def ring_of(size: Expr, most: int) -> Expr:
    """The size of a ring on which ``most`` rows count; fewer rows lie on one of that many, and all of them count."""
    return ibis.ifelse(size > most, size, ibis.literal(most, "int64"))


def on_ring(nth: Expr, ring: Expr, most: int, draw: Expr) -> Expr:
    """Tell if the row with this number is one of ``most`` that count: of each stretch of the ring one.

    Of integers that are not negative, remainders are the same on every engine. Row j of the ring lies in stretch
    floor(j most / ring), and ``part`` is what is over. It is row floor(part / most) of its stretch, of ``length``.

    There is no case in here and no "or". What an engine may leave out it does not share between the parts, so it would
    compute most of these terms several times.

    Parameters
    ----------
    nth : Expr
        Number of the row, from 0.
    ring : Expr
        Rows on the ring, at least ``most``.
    most : int
        Rows that count.
    draw : Expr
        Number below 2^52, of the person.

    Returns
    -------
    Expr
        True for exactly ``most`` of the numbers.
    """
    whole = (nth.cast("int64") + draw % ring) % ring * most
    part = whole % ring
    first = part % most
    length = ((ring - first + (most - 1)).cast("float64") / double(float(most))).floor().cast("int64")
    place = (draw % STEPS * ((whole - part) % STEPS) + draw % SHIFTS) % STEPS % length
    return part - first == place * most


def in_few_groups(rows: Table, place: str, most: int) -> Table:
    """Rows in one of the groups of their person that count.

    The ring is a column of its own: as a term it would be computed wherever ``on_ring`` reads it, windows included.

    Parameters
    ----------
    rows : Table
        With ``who`` and ``group_draw``.
    place : str
        Column that holds the group; null in none.
    most : int
        Groups that count.

    Returns
    -------
    Table
        Some of the rows, with more columns.
    """
    rows = rows.mutate(group=ibis.dense_rank().over(group_by="who", order_by=rows[place]))
    groups = _up_to(rows.group, rows[place]).max().over(group_by="who")
    rows = rows.mutate(groups=groups)
    return rows.filter(on_ring(rows.group, ring_of(rows.groups, most), most, rows.group_draw))


def _up_to(group: Expr, place: Expr) -> Expr:
    """Groups of a person up to this one, at least 1; the largest is how many there are."""
    return ibis.ifelse(place.notnull(), group.cast("int64") + 1, ibis.literal(1, "int64"))


def keys_table(keys: Keys, schema: Schema) -> pa.Table:
    """The public keys with their places, as the engine gets them."""
    import pyarrow as pa

    whole = isinstance(schema.columns[keys.column], Integer)
    if whole:
        listed = numbers(np.array([int(key) for key in keys.among], np.int64))
    else:
        listed = texts([key_text(key) for key in keys.among])
    return pa.table({"listed": listed, "place": numbers(np.arange(len(keys.among)))})


def who_of(storage: str) -> Who:
    """The engine type of persons: whole numbers stay as they are, all else is text."""
    return "int64" if storage in ("whole", "seconds", "instants") else "string"
