"""Choice of the rows that count: at most so many of a person, in at most so many groups, as engine expressions.

    typed --over--> persons with more rows than the cap --numbered--> their rows, each with its turn
    base    = rows of all other persons, turn 0, and the numbered ones                       (a view: nothing is copied)
    crowded = persons in more groups than they may be in --chosen--> the groups in which they count
    groups  = keyed rows of all other persons, and those of the crowded ones in their chosen groups

Only persons over a cap are numbered and hashed. All rows of the others are kept, as a hash could not leave one out.
Which persons are over a cap depends on their own rows alone, so the choice stays inside one person. Its law is that of
a hash over everybody: a person within a cap has turns below it, whatever their order.

Public keys come as a small table beside the rows, "keys0" and so on, with the place of each among those asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import ibis

from reticent.data.engines.casts import clamp, key_text, with_stand_in
from reticent.data.engines.formula_levels import Names
from reticent.data.engines.joins import KEY_STAND_IN
from reticent.data.query import Keys, groups_of_all, groups_of_kept
from reticent.data.schema import EXACT_DOUBLE, Category, Integer, Schema, Text

if TYPE_CHECKING:
    import pyarrow as pa

Table: TypeAlias = Any  # Ibis is not typed; these never leave ``plan`` but as SQL text
Expr: TypeAlias = Any
Who: TypeAlias = Literal["string", "int64"]
Of: TypeAlias = Literal["kept", "all"]


@dataclass(frozen=True, slots=True)
class RowChoice:
    """Expressions over the typed rows of the used columns; ``who`` is the engine type of persons."""

    schema: Schema
    used: tuple[str, ...]
    who: Who = "string"

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
        return ibis.table({**self.shape, "turn": "int64"}, name="typed")

    def over(self) -> Table:
        """Persons with more rows than the cap."""
        sizes = self.typed.group_by("who").aggregate(size=self.typed.count())
        return sizes.filter(sizes["size"] > self.schema.person.rows).select("who")

    def numbered(self) -> Table:
        """Rows of persons over the cap; ``turn`` is 0, 1, ... in the keyed order of each person's rows."""
        rows = self.of_many(self.typed)
        order = [rows[name] for name in self.columns]
        rows = rows.mutate(nth=ibis.row_number().over(group_by="who", order_by=order or [rows.who]))
        person = rows.who.cast("string")
        digest = (ibis.literal(f"row:{KEY_STAND_IN}:") + rows.nth.cast("string") + ":" + person).hexdigest("sha256")
        rows = rows.mutate(draw=digest)
        rows = rows.mutate(turn=ibis.row_number().over(group_by="who", order_by=[rows.draw, rows.nth]))
        return rows.select("who", *self.columns, "turn")

    def base(self) -> Table:
        """All rows with their turn."""
        rows = self.of_few(self.typed)
        return rows.union(ibis.table({**self.shape, "turn": "int64"}, name="numbered"), distinct=False)

    def rows(self, of: Of) -> Table:
        """The rows of the base table, all of them or the kept ones."""
        rows = ibis.table({**self.shape, "turn": "int64"}, name="base")
        return rows.filter(rows.turn < self.schema.person.rows) if of == "kept" and "who" in self.shape else rows

    def of_few(self, rows: Table) -> Table:
        """Those of the rows whose person has at most the cap of them."""
        return rows.anti_join(ibis.table({"who": self.who}, name="over"), "who")

    def of_many(self, rows: Table) -> Table:
        """Those of the rows whose person has more."""
        return rows.semi_join(ibis.table({"who": self.who}, name="over"), "who")

    # --- groups of a person -------------------------------------------------------------------------------------------

    def keyed(self, keys: Keys, nth: int, of: Of) -> Table:
        """Rows in one of the groups, with its key and place.

        Parameters
        ----------
        keys : Keys
            Public groups of one column.
        nth : int
            Number of these groups among those of a run, which names their table.
        of : Of
            Rows that are meant.

        Returns
        -------
        Table
            Rows with the columns ``key`` and ``place``.
        """
        column, rows = self.schema.columns[keys.column], self.rows(of)
        whole = isinstance(column, Integer)
        x = with_stand_in(rows[self.names[keys.column]], column)
        if whole:
            x = clamp(x, -float(EXACT_DOUBLE), float(EXACT_DOUBLE)).floor().cast("int64")
        among = ibis.table({"listed": "int64" if whole else "string", "place": "int64"}, name=f"keys{nth}")
        rows = rows.mutate(key=x)
        return rows.inner_join(among, rows.key == among.listed).drop("listed")

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

    def crowded(self, keys: Keys, nth: int, of: Of) -> Table:
        """Persons in more groups than they may count in: of few groups they have more rows than that.

        Parameters
        ----------
        keys : Keys
            Public groups of one column.
        nth : int
            Number of these groups among those of a run.
        of : Of
            Rows that are meant.

        Returns
        -------
        Table
            Table with the column ``who``.
        """
        rows, most = self.keyed(keys, nth, of), self.bound(keys, of)
        if most is not None and most >= self.schema.person.rows:
            rows = self.of_many(rows)
        pairs = rows.select("who", "place").distinct()
        sizes = pairs.group_by("who").aggregate(size=pairs.count())
        return sizes.filter(sizes["size"] > most).select("who")

    def chosen(self, keys: Keys, nth: int, of: Of) -> Table:
        """The groups of crowded persons with the least sha256(key, group, person).

        Parameters
        ----------
        keys : Keys
            Public groups of one column.
        nth : int
            Number of these groups among those of a run.
        of : Of
            Rows that are meant.

        Returns
        -------
        Table
            Pairs ``chosen_who`` and ``chosen_place``.
        """
        most = self.bound(keys, of)
        rows = self.keyed(keys, nth, of).semi_join(ibis.table({"who": self.who}, name=f"{of}_crowded{nth}"), "who")
        pairs = with_draw(rows.select("who", "place", "key").distinct())
        pairs = pairs.mutate(turn=ibis.dense_rank().over(group_by="who", order_by=pairs.draw))
        return pairs.filter(pairs.turn < most).select(chosen_who=pairs.who, chosen_place=pairs.place)

    def grouped(self, keys: Keys, nth: int, of: Of) -> Table:
        """Rows in one of the groups in which their person counts, with its place.

        Parameters
        ----------
        keys : Keys
            Public groups of one column.
        nth : int
            Number of these groups among those of a run.
        of : Of
            Rows that are meant.

        Returns
        -------
        Table
            Rows with the column ``place``.
        """
        rows = self.keyed(keys, nth, of).drop("key")
        if self.bound(keys, of) is None:
            return rows
        crowd = ibis.table({"who": self.who}, name=f"{of}_crowded{nth}")
        pairs = ibis.table({"chosen_who": self.who, "chosen_place": "int64"}, name=f"{of}_chosen{nth}")
        inside = rows.semi_join(pairs, [rows.who == pairs.chosen_who, rows.place == pairs.chosen_place])
        return rows.anti_join(crowd, "who").union(inside, distinct=False)


def with_draw(rows: Table) -> Table:
    """The rows with a text that orders the groups of a person: sha256(key, group, person)."""
    key = rows.key.cast("string")
    salt = ibis.literal(f"group:{KEY_STAND_IN}:") + key.length().cast("string") + ":"
    return rows.mutate(draw=(salt + key + ":" + rows.who.cast("string")).hexdigest("sha256"))


def keys_table(keys: Keys, schema: Schema) -> pa.Table:
    """The public keys with their places, as the engine gets them."""
    import pyarrow as pa

    whole = isinstance(schema.columns[keys.column], Integer)
    listed = pa.array([int(key) for key in keys.among]) if whole else pa.array([key_text(key) for key in keys.among])
    return pa.table({"listed": listed, "place": pa.array(range(len(keys.among)), pa.int64())})


def who_of(storage: str) -> Who:
    """The engine type of persons: whole numbers stay as they are, all else is text."""
    return "int64" if storage in ("whole", "seconds", "instants") else "string"


def distinct_keys(keys: Sequence[Keys | None]) -> tuple[Keys, ...]:
    """Each list of groups once, in order."""
    return tuple(dict.fromkeys(one for one in keys if one is not None))
