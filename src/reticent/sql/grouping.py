"""Groups of a SELECT: its columns, and the sets of them that have rows.

    GROUP BY ward, year              one set      (ward, year)
    GROUP BY ROLLUP (ward, year)     three sets   (ward, year), (ward), ()
    GROUP BY CUBE (ward, year)       four sets    those, and (year)

All sets but the finest are sums of released cells, which are free. A list without the finest would cost its noise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, product
from math import prod
from typing import Any, Final, TypeAlias

from reticent.data.expression_tree import Tree
from reticent.sql.syntax import parts, refusal

MOST_SETS: Final = 64
Columns: TypeAlias = tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class GroupingSets:
    """Columns of GROUP BY, and for each set of rows the places of its columns; the finest set is the first."""

    columns: tuple[Tree, ...] = ()
    sets: tuple[tuple[int, ...], ...] = ((),)


def grouping_sets(node: Any, tree: Callable[[Any], Tree]) -> GroupingSets:
    """The columns and sets of a GROUP BY.

    Parameters
    ----------
    node : node of SQLGlot
    tree : function
        The expression of a node.

    Raises
    ------
    QuestionError
        Sets of which no one has all columns; a set that is listed twice, or too many.
    """
    parts(node, "expressions", "rollup", "cube", "grouping_sets")
    plain = list(node.expressions)
    further = [one for name in ("rollup", "cube", "grouping_sets") for one in node.args.get(name) or ()]
    if len(further) == 1 and further[0].key != "groupingsets" and not further[0].expressions:  # a, b WITH ROLLUP
        return _checked([_sets(further[0].key, [_members(one, tree) for one in plain])])
    return _checked([_listed(one, tree) for one in (*plain, *further)])


def _listed(node: Any, tree: Callable[[Any], Tree]) -> list[Columns]:
    """The sets that one part of GROUP BY stands for."""
    if node.key not in ("rollup", "cube", "groupingsets"):
        return [_members(node, tree)]
    parts(node, "expressions")
    if node.key == "groupingsets":
        return [found for one in node.expressions for found in _listed(one, tree)]
    return _sets(node.key, [_members(one, tree) for one in node.expressions])


def _members(node: Any, tree: Callable[[Any], Tree]) -> Columns:
    """The columns at one place, alone or in brackets."""
    match node.key:
        case "tuple":
            parts(node, "expressions")
            return tuple(map(tree, node.expressions))
        case "paren":
            parts(node, "this")
            return (tree(node.this),)
        case _:
            return (tree(node),)


def _sets(word: str, places: Sequence[Columns]) -> list[Columns]:
    """The sets of ROLLUP, which leaves out the last places one by one, and of CUBE, which leaves out any."""
    sizes = range(len(places), -1, -1)
    if word == "rollup":
        return [tuple(chain.from_iterable(places[:size])) for size in sizes]
    if 1 << len(places) > MOST_SETS:
        raise refusal(f"CUBE takes fewer columns: GROUP BY has at most {MOST_SETS} sets of groups.")
    return [tuple(chain.from_iterable(found)) for size in sizes for found in combinations(places, size)]


def _checked(choices: Sequence[Sequence[Columns]]) -> GroupingSets:
    """Every combination of a set of each part, as places of the columns."""
    if prod(map(len, choices)) > MOST_SETS:
        raise refusal(f"GROUP BY has at most {MOST_SETS} sets of groups.")
    columns = tuple(dict.fromkeys(one for choice in choices for found in choice for one in found))
    sets = [frozenset(chain.from_iterable(chosen)) for chosen in product(*choices)]
    if len(set(sets)) < len(sets):
        raise refusal("A set of groups stands twice in GROUP BY: name it once.")
    if frozenset(columns) not in sets:
        raise refusal(
            "GROUPING SETS needs the set of all its columns: the others are sums of its cells. Ask each by a statement "
            "of its own: GROUP BY one, then GROUP BY the other."
        )
    listed = [tuple(place for place, one in enumerate(columns) if one in each) for each in sets]
    return GroupingSets(columns, tuple(sorted(listed, key=lambda places: (-len(places), places))))
