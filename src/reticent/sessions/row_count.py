"""Number of rows of a session, public or bought, and what is told of the rows that lack a value.

    counted(study, axes, total)    where the number comes from, and what of ``total`` it costs
    Counted.draw(...)              the number, and the share of rows that lack a value, which it tells
    Counted.caveats(share)         the same in words, for the session and its certificates

A number is bought where a row may be left out, and it is that of the complete rows. Under substitution with one row a
person the number of all is public, so the share of the others follows. Else both numbers are drawn: a row is in one of
them. The pair thus moves as far as one number under add/remove, and twice as far under substitution. A share that was
told of the declared snapshot is shown again, and then the one number is drawn alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final, assert_never

from reticent.certificate.snapshot import NOTHING, EarlierShares
from reticent.mechanisms import gate
from reticent.mechanisms.gaussian import Gaussian
from reticent.mechanisms.geometric import Geometric
from reticent.privacy.sensitivity import L1, L2
from reticent.sessions.above_threshold import NORMAL, RowCount
from reticent.statistics.answer import IncompleteRows
from reticent.statistics.counts.incomplete_share import instead, odd_among, words
from reticent.statistics.public_facts import odd_cells
from reticent.statistics.shares import share_of, share_of_both

if TYPE_CHECKING:
    from reticent.data.schema import Schema
    from reticent.entropy import Entropy
    from reticent.mechanisms.gaussian import Gaussian
    from reticent.mechanisms.geometric import Geometric
    from reticent.privacy.guarantee import Guarantee
    from reticent.sessions.above_threshold import RowCount
    from reticent.sessions.row_functions import GridColumn

SIZE_SHARE: Final = Fraction(1, 20)  # of the whole, for a number of rows that is not public


@dataclass(frozen=True, slots=True)
class MeanSize:
    """The number of rows that means are over.

    Attributes
    ----------
    source : mechanism, int or None
        What buys it, or that number; None where the number in the table is public.
    cost : Fraction
        Of the whole session.
    schema : Schema
    told, untold : tuple of str
        The columns whose rows without a value the number tells, and other columns that can lack one.
    known : Known
        What earlier releases told.
    """

    source: Geometric | Gaussian | int | None
    cost: Fraction
    schema: Schema
    told: tuple[str, ...] = ()
    untold: tuple[str, ...] = ()
    known: EarlierShares = NOTHING

    @property
    def earlier(self) -> IncompleteRows | None:
        """The share that the number tells, where an earlier release told it."""
        return self.known.share(self.told) if self.told else None

    @property
    def bought(self) -> Guarantee | None:
        """Guarantee of the purchase of the number; None if it is public."""
        return None if isinstance(self.source, int | None) else self.source.guarantee

    def draw(self, complete: int, odd: int, entropy: Entropy) -> tuple[RowCount, IncompleteRows | None]:
        """The number of rows, and the share of ``odd`` ones in all where it tells that.

        Parameters
        ----------
        complete, odd : int
            Private numbers of rows with a value in every column, and without.
        entropy : Entropy

        Returns
        -------
        pair of RowCount, and IncompleteRows or None
        """
        pair = self.told and not _public(self.schema) and self.earlier is None
        exact = (complete, odd) if pair else (complete,)
        match self.source:
            case None:
                return RowCount(max(1, complete)), None
            case int(people):
                return RowCount(people), None
            case Geometric() as made:
                drawn, radius, scale = gate.draw(made, exact, entropy), made.radius(0.05), float(made.scale)
            case Gaussian() as made:
                deviation = math.sqrt(float(made.variance))
                drawn, radius = gate.draw(made, exact, entropy), int(NORMAL * deviation) + 1
                scale = deviation / math.sqrt(2.0)  # Laplace's of the same deviation: a normal law has .966 within
            case _:
                assert_never(self.source)
        return RowCount(max(1, drawn[0]), radius), self._share(tuple(drawn), complete + odd, scale)

    def _share(self, drawn: tuple[int, ...], rows: int, scale: float) -> IncompleteRows | None:
        """The share by the numbers that were drawn; ``rows`` is looked at where it is public."""
        if not self.told or self.earlier is not None:
            return self.earlier
        public = _public(self.schema)
        found = share_of(rows - drawn[0], rows, [scale]) if public else share_of_both(drawn[1], drawn[0], scale)
        return self.known.marked(IncompleteRows(self.told, found))

    def shares(self, share: IncompleteRows | None) -> tuple[IncompleteRows, ...]:
        """Share by the number of rows, and that of other columns where an earlier release told it."""
        others = self.known.share(self.untold) if self.untold else None
        return tuple(one for one in (share, others) if one is not None)

    def caveats(self, share: IncompleteRows | None) -> tuple[str, ...]:
        """The shares in words, and that of other columns none is told."""
        return (*(words(one, self.schema) for one in self.shares(share)), *self.left_out)

    @property
    def left_out(self) -> tuple[str, ...]:
        """One sentence on the columns of which nothing is told, and how to ask: none where there are none."""
        if not self.untold or self.known.share(self.untold) is not None:
            return ()
        question = f"incomplete({', '.join(self.untold)})"
        which, then = odd_cells(self.untold, self.schema), instead(self.untold, self.schema)
        return (f'a session does not tell how many rows have {which}, as "{question}" in a release does: {then}',)


def counted(
    schema: Schema,
    axes: Mapping[str, GridColumn],
    total: Fraction,
    *,
    in_rho: bool = False,
    sized: bool = True,
    known: EarlierShares = NOTHING,
) -> MeanSize:
    """Source of the number of rows; ``sized`` tells if answers need one at all.

    It is public where every person has one row and no row can lack a value: read under substitution, else declared.

    Parameters
    ----------
    schema : Schema
    axes : mapping of column to GridColumn
    total : Fraction
        Price of the session.
    in_rho : bool
        True if the price is in rho.
    sized : bool
        True if answers need a number of rows.
    known : EarlierShares
        Shares of incomplete rows that earlier releases told.

    Returns
    -------
    MeanSize
    """
    person = schema.person
    neighbours, cost = person.with_one_cap(), total * SIZE_SHARE
    odd = odd_among([*axes], schema)
    told = tuple(name for name in odd if not axes[name].stands_in) if sized else ()
    untold = tuple(name for name in odd if name not in told)
    if not sized:
        return MeanSize(1, Fraction(0), schema, (), untold, known)
    if person.rows == 1 and not told and not person.filtered:
        if person.size_public:
            return MeanSize(None, Fraction(0), schema, (), untold, known)
        if person.people is not None:
            return MeanSize(person.people, Fraction(0), schema, (), untold, known)
    pair = bool(told) and not _public(schema) and known.share(told) is None
    twice = pair and neighbours.kind == "substitute"
    if in_rho:
        squared = Fraction(person.rows) ** 2 * (2 if twice else 1)
        return MeanSize(Gaussian(L2(squared, neighbours), cost), cost, schema, told, untold, known)
    moved = Fraction(person.rows * (2 if twice else 1))
    return MeanSize(Geometric(L1(moved, neighbours), cost), cost, schema, told, untold, known)


def _public(schema: Schema) -> bool:
    """Tell if the number of all rows is public and exact."""
    return schema.person.size_public and schema.person.rows == 1
