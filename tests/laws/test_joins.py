"""Joins on every pair of neighbours of small tables: nobody else's rows move, and a person has no more than the cap.

The mutants are the stability bugs that were found in a peer, here on joins: a window that forgets the person, a cut
over everybody's rows, a join that forgets the person, a cap before the rows are multiplied. The enumeration that passes
refutes each of them.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from types import MappingProxyType
from typing import Any

import pytest

from reticent.data import query_compiler
from reticent.data.columns import Storage
from reticent.data.engines import joins
from reticent.data.engines.duckdb import DuckDBDialect
from reticent.data.engines.engine import Names
from reticent.data.expression_text import read
from reticent.data.joined_table import Join, JoinedTable
from reticent.data.joins import source_of, with_tables
from reticent.data.query import DistinctPersons, Keys, Records, stability
from reticent.data.schema import Category, Integer, Person, Schema
from reticent.data.source import open_source
from reticent.data.table import open_table
from reticent.data.transformations import filtered
from reticent.errors import SpecError

KEY = bytes(range(32))
Table = Sequence[tuple[Any, ...]]
World = tuple[Table, Table]  # visits (person, visit, cost) and doses (person, visit, dose)
Pairs = tuple[tuple[str, str], ...]
BY_VISIT: Pairs = (("visit", "visit"),)
ASKED = [Records(("cost", "doses.dose"), (Fraction(1), Fraction(1)))]


def schema_of(join: Join, rows: int, keys: Pairs, most: int, condition: str = "") -> Schema:
    plain = Schema(MappingProxyType({"cost": Integer(0, 9)}), Person("add_remove", "who", most))
    schema = with_tables(plain, {"doses": (JoinedTable(keys, "who", join, rows), {"dose": Integer(0, 9)}, {})})
    return filtered(schema, read(condition)) if condition else schema


def through_chain(caps: Sequence[tuple[int, int]], most: int) -> Schema:
    """Visits name a key, each table of a chain says which next key it has, and the last one whose that is.

    Parameters
    ----------
    caps : sequence of pairs
        Keys of a person and persons of a key, of the main table's first.
    most : int
        Rows of a person.
    """
    plain = Schema(MappingProxyType({"cost": Integer(0, 9)}), Person("add_remove", f"t{len(caps)}.next", most))
    before = ["visit", *(f"t{place}.next" for place in range(1, len(caps)))]
    tables: dict[str, Any] = {
        f"t{place}": (JoinedTable(((ours, "key"),), "next", most_keys=keys, owners=owners), {"dose": Integer(0, 9)}, {})
        for place, (ours, (keys, owners)) in enumerate(zip(before, caps, strict=True), start=1)
    }
    return with_tables(plain, tables)


def through_keys(most_keys: int, owners: int, most: int) -> Schema:
    """Visits name a key, and "doses" says whose it is."""
    plain = Schema(MappingProxyType({"cost": Integer(0, 9)}), Person("add_remove", "doses.who", most))
    table = JoinedTable(BY_VISIT, "who", most_keys=most_keys, owners=owners)
    return with_tables(plain, {"doses": (table, {"dose": Integer(0, 9)}, {})})


class Engine:
    """The statements that the compiler writes for one schema, run on one small world after another."""

    def __init__(self, schema: Schema, change: Callable[[str], str] = str) -> None:
        self.schema, self.used = schema, query_compiler.columns_of(ASKED, schema)
        storage: dict[str, Storage] = {"who": "text", "visit": "whole", "cost": "whole", "dose": "whole"}
        told = query_compiler.statements(ASKED, schema, storage, KEY, DuckDBDialect())
        views, name, side = query_compiler.side_statements("doses", schema, self.used, storage, KEY, DuckDBDialect())
        self.sides = {**views, name: side}
        self.steps = {**told.steps, told.first[0]: told.first[1], **{name: text for _, name, text in told.further}}
        before = str((self.sides, self.steps))
        self.sides = {name: change(text) for name, text in self.sides.items()}
        self.steps = {name: change(text) for name, text in self.steps.items()}
        import duckdb

        self.most_keys = schema.tables["doses"].most_keys
        assert change is str or before != str((self.sides, self.steps))
        self.connection = duckdb.connect(":memory:", config={"threads": "1"})
        self.known: dict[str, Counter[tuple[Any, ...]]] = {}

    def kept(self, world: World) -> Counter[tuple[Any, ...]]:
        """The rows that are kept, with the person of each; a world is read once."""
        if str(world) not in self.known:
            self.known[str(world)] = self._kept(*world)
        return self.known[str(world)]

    def _kept(self, visits: Table, doses: Table) -> Counter[tuple[Any, ...]]:
        names = joins.stream_names(self.schema, self.used, "doses")
        self.run(self.sides, doses, ["who", "visit", "dose"], [(inside, own) for inside, own in names])
        inside = Names(self.schema, self.used)
        main = [(inside["cost"], "cost"), *(("k0", "visit") for _ in self.schema.tables["doses"].keys)]
        main += [] if self.schema.owner else [("who", "who")]
        self.run(self.steps, visits, ["who", "visit", "cost"], main)
        dose = inside["doses.dose"]
        found = self.connection.execute(f"SELECT who, {inside['cost']}, {dose} FROM base WHERE turn < 1")
        return Counter(found.fetchall())

    def run(self, texts: dict[str, str], rows: Table, names: list[str], wanted: list[tuple[str, str]]) -> None:
        import pyarrow as pa

        cells = {name: [row[place] for row in rows] for place, name in enumerate(names)}
        types = {"who": pa.string()}
        columns = {inside: pa.array(cells[own], types.get(own, pa.int64())) for inside, own in wanted}
        self.connection.register("source", pa.table(columns))
        for name, text in texts.items():
            self.connection.execute(f'CREATE OR REPLACE TEMP TABLE "{name}" AS {text}')
        self.connection.unregister("source")


class ChainEngine:
    """The statements of a chain, run on one small world after another."""

    def __init__(self, schema: Schema, change: Callable[[str], str] = str) -> None:
        import duckdb

        asked = [Records(("cost",), (Fraction(1),))]
        self.schema, self.used = schema, query_compiler.columns_of(asked, schema)
        storage: dict[str, Storage] = {**dict.fromkeys(("visit", "cost", "key", "dose"), "whole"), "next": "text"}
        told = query_compiler.statements(asked, schema, storage, KEY, DuckDBDialect())
        self.sides = []
        for name in joins.stored_in_order(schema, self.used):
            views, side, text = query_compiler.side_statements(name, schema, self.used, storage, KEY, DuckDBDialect())
            self.sides.append((name, {**views, side: change(text)}))
        self.steps = {**told.steps, told.first[0]: told.first[1], **{name: text for _, name, text in told.further}}
        self.connection = duckdb.connect(":memory:", config={"threads": "1"})

    def kept(self, visits: Table, tables: Mapping[str, Table]) -> Counter[tuple[Any, ...]]:
        """The rows that are kept, with the person of each: of visits (key, cost), and of each table (key, next)."""
        for name, texts in self.sides:
            inside = [one for one, _ in joins.stream_names(self.schema, self.used, name)]
            self.run(texts, {one: [str(row[1]) if one == "who" else row[0] for row in tables[name]] for one in inside})
        self.run(self.steps, {"c0": [cost for _, cost in visits], "k0": [key for key, _ in visits]})
        most = self.schema.person.rows
        return Counter(self.connection.execute(f"SELECT who, c0 FROM base WHERE turn < {most}").fetchall())

    def run(self, texts: dict[str, str], cells: Mapping[str, list[Any]]) -> None:
        import pyarrow as pa

        types = {"who": pa.string()}
        columns = {name: pa.array(found, types.get(name, pa.int64())) for name, found in cells.items()}
        self.connection.register("source", pa.table(columns))
        for name, text in texts.items():
            self.connection.execute(f'CREATE OR REPLACE TEMP TABLE "{name}" AS {text}')
        self.connection.unregister("source")


def distance(one: Counter[tuple[Any, ...]], other: Counter[tuple[Any, ...]]) -> int:
    return sum(abs(one[row] - other[row]) for row in {*one, *other})


def subsets(rows: Table) -> list[Table]:
    return [[row for place, row in enumerate(rows) if chosen >> place & 1] for chosen in range(1 << len(rows))]


def worlds() -> Iterator[tuple[World, list[World]]]:
    """The rows of another person alone, and with rows of person a beside them in every way that matters to a cap."""
    visits = [("a", 1, 1), ("a", 1, 2), ("a", 2, 3)]
    doses = [("a", 1, 1), ("a", 1, 8), ("a", 2, 9)]
    theirs: list[World] = [
        ([("b", 1, 3)], [("b", 1, 5)]),
        ([("b", 1, 3), ("b", 1, 4)], [("b", 2, 5), ("b", 1, 6)]),
        ([("b", 1, 3), ("b", 2, 4)], [("b", 1, 5), ("b", 1, 6)]),
    ]
    for rest in theirs:
        mine = product((visits, visits[:1], visits[:2]), (doses, doses[:1], doses[::2], []))
        yield rest, [([*some, *rest[0]], [*more, *rest[1]]) for some, more in mine]


CASES: list[tuple[Join, int, Pairs, int]] = [
    ("left", 1, (), 1),
    ("inner", 1, (), 2),
    ("left", 2, (), 2),
    ("inner", 2, BY_VISIT, 2),
    ("left", 1, BY_VISIT, 1),
]


def moves(engine: Engine) -> Iterator[tuple[int, bool]]:
    """The rows that one person moves, and True where rows of others move."""
    for without, neighbours in worlds():
        one = engine.kept(without)
        for other in map(engine.kept, neighbours):
            yield distance(one, other), any(one[row] != other[row] for row in {*one, *other} if row[0] == "b")


@pytest.mark.wide
@pytest.mark.loop(2)
@pytest.mark.parametrize(("join", "rows", "keys", "most"), CASES)
@pytest.mark.parametrize("condition", ["", "doses.dose > 5 or cost > 1"])
def test_a_join_moves_the_capped_rows_of_one_person_and_no_others(
    join: Join, rows: int, keys: Pairs, most: int, condition: str
) -> None:
    found = list(moves(Engine(schema_of(join, rows, keys, most, condition))))
    assert max(moved for moved, _ in found) == most
    assert not any(others for _, others in found)


def _window_without_the_person(text: str) -> str:
    """A row of a key is chosen among everybody's."""
    return re.sub(r'PARTITION BY "t\d+"\."who", ("t\d+"\."k0")', r"PARTITION BY \1", text)


def _cut_over_everybody(text: str) -> str:
    """The cap counts the rows of the file, not of a person."""
    text = text.replace('COUNT(*) AS "size"', 'SUM(COUNT(*)) OVER () AS "size"')
    return re.sub(r'PARTITION BY "t\d+"\."who"\s+ORDER BY ("t\d+"\."draw" ASC)', r"ORDER BY \1", text)


def _join_without_the_person(text: str) -> str:
    return re.sub(r'AND "t\d+"\."who" = "t\d+"\."s0who"', "", text)


def _cap_before_the_join(text: str) -> str:
    """Rows of the main table are counted, however many each becomes."""
    text = text.replace('COUNT(*) AS "size"', 'COUNT(DISTINCT "c0") AS "size"')
    return re.sub(
        r'ROW_NUMBER\(\) OVER \(\s+PARTITION BY ("t\d+"\."who")\s+ORDER BY ("t\d+"\."c0") ASC, "t\d+"\."c1" ASC',
        r"DENSE_RANK() OVER (PARTITION BY \1 ORDER BY \2 ASC",
        text,
    )


@pytest.mark.wide
@pytest.mark.parametrize(
    ("mutant", "case"),
    [
        (_window_without_the_person, CASES[4]),
        (_cut_over_everybody, CASES[4]),
        (_join_without_the_person, CASES[4]),
        (_cap_before_the_join, CASES[2]),
    ],
)
def test_the_enumeration_refutes_mutants(mutant: Callable[[str], str], case: tuple[Join, int, Pairs, int]) -> None:
    found = moves(Engine(schema_of(*case), mutant))
    assert any(moved > case[3] for moved, _ in found)


def test_a_constant_column_behind_a_key_is_refused_since_a_person_may_have_two_values() -> None:
    """A visit without a dose has the stand-in: the person is in two groups, where a constant column claims one."""
    plain = Schema(MappingProxyType({"cost": Integer(0, 9)}), Person("add_remove", "who", 4))
    kind = Category(("x", "y"), complete=True)
    with pytest.raises(SpecError, match="a key and a constant column, kind"):
        with_tables(plain, {"doses": (JoinedTable(BY_VISIT, "who"), {"kind": replace(kind, constant=True)}, {})})
    inner = with_tables(plain, {"doses": (JoinedTable(BY_VISIT, "who", "inner"), {"kind": kind}, {})})
    claimed = replace(inner, columns={**inner.columns, "doses.kind": replace(kind, constant=True)})
    left = {"doses": replace(inner.tables["doses"], join="left")}
    asked = DistinctPersons(Keys("doses.kind", ("x", "y"), 1))
    found = {}
    for name, schema in (("inner", claimed), ("left", replace(claimed, tables=left))):
        doses = open_source({"who": ["a"], "visit": [1], "kind": ["y"]}, source_of(schema, "doses"))
        visits = {"who": ["a", "a"], "visit": [1, 2], "cost": [1, 2]}
        (result,) = open_table(visits, schema, further={"doses": doses}).run([asked], KEY)
        found[name] = sum(n for (n,) in result.vectors)
    (allowed,) = stability(asked, inner.person, stands_in=True)
    assert found == {"inner": allowed, "left": 2 * allowed}


@pytest.mark.parametrize("join", ["left", "inner"])
def test_a_column_of_another_table_is_complete_only_where_each_row_has_a_partner(join: Join) -> None:
    plain = Schema(MappingProxyType({"cost": Integer(0, 9)}), Person("add_remove", "who", 1))
    schema = with_tables(plain, {"doses": (JoinedTable((), "who", join), {"dose": Integer(0, 9, complete=True)}, {})})
    assert schema.columns["doses.dose"].complete is (join == "inner")
    assert (schema.columns["doses.dose"].stand_in is None) is (join == "left")
    assert schema.person.filtered is (join == "inner")  # a declared number of people is not that of rows with a partner


# --- rows that reach their person through a key -----------------------------------------------------------------------

OWNERS = {
    "b alone": ["b1"],
    "b and c": ["b1", "c2"],
    "b of two": ["b1", "b2"],
    "b and c of two": ["b1", "b3", "c2", "c4"],
    "two of two": ["b1", "b2", "c2", "c3"],
    "shared": ["b1", "c1", "b2", "c3"],
}


def steps(one: Counter[tuple[Any, ...]], other: Counter[tuple[Any, ...]]) -> int:
    """Steps of one person's rows from one table of kept rows to another: to change a person's rows takes two."""
    found = 0
    for person in {row[0] for row in (*one, *other)}:
        before, after = ({row: n for row, n in rows.items() if row[0] == person} for rows in (one, other))
        found += 0 if before == after else 1 if not before or not after else 2
    return found


def all_steps(engine: Engine) -> Iterator[int]:
    """The steps that a person a makes, with any keys of three, whatever becomes of the rows of shared keys."""
    for names in OWNERS.values():
        rest = [(name[0], int(name[1]), 0) for name in names]
        for keys in subsets([("a", key, 0) for key in (1, 2, 3)])[1:]:
            theirs = {key for _, key, _ in rest}
            visits = [(None, key, key) for key in (1, 2, 3, 4)]
            shared = [(None, key, 9) for _, key, _ in keys if key in theirs and len(keys) <= engine.most_keys]
            without = [row for row in visits if row[1] in theirs]
            before = engine.kept((without, rest))
            for after in (visits, [*visits, *shared]):  # rows of shared keys may change too
                yield steps(before, engine.kept((after, [*rest, *keys])))


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize(("most_keys", "owners"), [(1, 1), (1, 2), (2, 1), (2, 2)])
def test_a_person_with_keys_moves_as_many_steps_as_are_declared(most_keys: int, owners: int) -> None:
    schema = through_keys(most_keys, owners, 2)
    found = max(all_steps(Engine(schema)))
    assert found <= schema.person.moved == (2 * owners - 1 if most_keys == 1 else 2 * most_keys * owners)
    assert owners > 1 or most_keys == 1 or found >= 3


def _least_owner(text: str) -> str:
    """A key belongs to the least of its persons, so one person's arrival moves it from another and back."""
    name = re.search(r'COUNT\(\*\) OVER \(\s*PARTITION BY ("t\d+"\."k0")\s', text)
    if name is None:
        return text
    table = name[1].split(".")[0]
    return re.sub(
        r'COUNT\(\*\) OVER \(\s*PARTITION BY "t\d+"\."k0"\s',
        f'CASE WHEN {table}."who" = MIN({table}."who") OVER (PARTITION BY {name[1]}) THEN 1 ELSE 9 END + 0 * \\g<0>',
        text,
    )


def _uniqueness_before_the_cap(text: str) -> str:
    """Keys are shared or not by all that a person has, and a person has any number."""
    return re.sub(r'"t\d+"\."nth" < 1(?=\s*\) AS "t\d+"\s*\) AS "t\d+"\s*WHERE\s+"t\d+"\."size")', "TRUE", text)


@pytest.mark.wide
@pytest.mark.parametrize("mutant", [_least_owner, _uniqueness_before_the_cap])
def test_the_enumeration_refutes_other_rules_of_owners(mutant: Callable[[str], str]) -> None:
    schema = through_keys(1, 1, 2)
    assert any(found > schema.person.moved for found in all_steps(Engine(schema, mutant)))


def test_a_least_owner_moves_three_others_where_one_person_leaves() -> None:
    """The number of persons changes by 4, and a claim of one person would have been 1."""
    schema = through_keys(3, 1, 2)
    visits = [(None, key, key) for key in (1, 2, 3, 4)]
    rest = [("b", 1, 0), ("c", 2, 0), ("d", 3, 0)]
    mine = [("a", key, 0) for key in (1, 2, 3)]
    least = Engine(schema, _least_owner)
    with_a, without = (least.kept((visits, rows)) for rows in ([*mine, *rest], rest))
    assert len({row[0] for row in with_a} ^ {row[0] for row in without}) == 4
    assert steps(with_a, without) == 4
    dropped = Engine(schema)
    assert steps(dropped.kept((visits, [*mine, *rest])), dropped.kept((visits, rest))) == 3 <= schema.person.moved


# --- chains of keys ---------------------------------------------------------------------------------------------------


def chain_steps(engine: ChainEngine, worlds: int, seed: int, *, content: bool = True) -> int:
    """The most steps that a person a makes in random small worlds of two tables, by Theorem 3's neighbours.

    Parameters
    ----------
    engine : ChainEngine
    worlds, seed : int
    content : bool
        Rows of shared keys may change where the person has few enough keys.
    """
    dice, most = random.Random(seed), 0
    first, last = (engine.schema.tables[name] for name in ("t1", "t2"))
    cards, accounts = range(1, 6), range(11, 15)
    for _ in range(worlds):
        theirs = [(account, person) for person in "bcde" for account in dice.sample(accounts, dice.choice((1, 1, 2)))]
        below = [(card, account) for card in cards for account in dice.sample(accounts, dice.choice((0, 1, 1, 2)))]
        mine = [(account, "a") for account in dice.sample(accounts, dice.choice((1, 1, last.most_keys)))]
        own = {account for account, _ in mine}
        shared = {account for account, _ in theirs}
        other = [(card, dice.choice(sorted(own))) for card in dice.sample(cards, dice.choice((0, 1, 2)))]
        without = [(card, account) for card, account in below if account not in own - shared]  # (a)
        if content and len(own) <= last.most_keys:  # (b): rows of shared keys differ in any way
            fixed = [(card, account) for card, account in without if account not in own]
            without = [*fixed, *((card, account) for card, account in other if account in shared)]
        reached = {card for card, account in below if account in own}
        others = {card for part in (below, without) for card, account in part if account in shared}
        visits = [(card, card) for card in cards]
        before = [(card, cost) for card, cost in visits if card not in reached - others]
        if content and len(reached) <= first.most_keys:
            before = [(card, 9 - cost if card in reached else cost) for card, cost in before]
        one = engine.kept(before, {"t1": without, "t2": theirs})
        most = max(most, steps(one, engine.kept(visits, {"t1": below, "t2": [*theirs, *mine]})))
    return most


CHAINS = {((1, 1), (1, 1)): 3, ((2, 1), (1, 1)): 8, ((1, 1), (2, 1)): 6, ((1, 2), (1, 1)): 6}


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize(("worlds", "seed"), [(25, 8), (50, 7)])
@pytest.mark.parametrize(("caps", "declared"), CHAINS.items())
def test_a_person_behind_a_chain_moves_at_most_as_many_steps_as_are_declared(
    caps: tuple[tuple[int, int], ...], declared: int, worlds: int, seed: int
) -> None:
    """Random worlds of up to five keys, four persons and two tables; each moves no more than Theorem 3 says."""
    schema = through_chain(caps, 3)
    assert schema.person.moved == declared
    assert 1 < chain_steps(ChainEngine(schema), worlds, seed) <= declared


def test_steps_of_a_chain_are_not_those_of_its_last_table() -> None:
    """With one key and one owner everywhere a person moves more than one step: a claim of one would be wrong."""
    engine = ChainEngine(through_chain(((1, 1), (1, 1)), 3))
    visits, other = [(1, 1)], [(1, 8)]
    below, theirs = [(1, 11), (1, 12)], [(11, "b"), (12, "c")]
    gone = engine.kept(visits, {"t1": [(1, 12)], "t2": theirs})
    assert steps(gone, engine.kept(other, {"t1": below, "t2": [*theirs, (11, "a")]})) == 2


def test_without_a_cap_at_each_table_of_a_chain_a_person_moves_more_than_is_declared() -> None:
    """Person a has four cards of one account, each also of an account of b, c, d or e, who all lose theirs."""
    schema = through_chain(((1, 1), (1, 1)), 3)
    theirs = [(12, "b"), (13, "c"), (14, "d"), (15, "e")]
    below = [(card, account) for card in (1, 2, 3, 4) for account in (11, 11 + card)]
    visits = [(card, card) for card in (1, 2, 3, 4)]
    found = {}
    for name, change in (("capped", str), ("not", _uniqueness_before_the_cap)):
        engine = ChainEngine(schema, change)
        without = engine.kept(visits, {"t1": [row for row in below if row[1] != 11], "t2": theirs})
        found[name] = steps(without, engine.kept(visits, {"t1": below, "t2": [*theirs, (11, "a")]}))
    assert found["capped"] == 1 < schema.person.moved < found["not"] == 4
