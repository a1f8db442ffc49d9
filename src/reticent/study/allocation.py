"""From a list of questions to steps with a price: epsilon shared out, every refusal raised, no row read.

epsilon (or rho) is the total of the release. Questions with their own ``epsilon`` take it, the rest share equally.
Two shares are asked beside the answers, each for 5 % of an answer's part: of persons with more rows than are kept,
where one can have them, and of rows without a readable value (``study/incomplete_shares.py``). The guarantee of the
release is derived from the steps; the total asked is only a limit on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from reticent.calendar import Calendar
from reticent.certificate.snapshot import NOTHING, EarlierShares
from reticent.data.columns import columns_of
from reticent.data.expression_tree import Tree, write
from reticent.data.query import KeyFile, Keys, columns_read
from reticent.data.schema import Schema, needed
from reticent.errors import PublicParameterError, QuestionError
from reticent.exact.rounding import round_down, sqrt_down, sqrt_up
from reticent.mechanisms.geometric import Geometric
from reticent.privacy import compose, ptr
from reticent.privacy.compose import leaves, together
from reticent.privacy.convert import approx_of, epsilon_delta, zcdp_of
from reticent.privacy.cost import NO_TOTAL, Cost, shares
from reticent.privacy.filters import Currency
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import ZCDP, ApproxDP, ApproxZCDP, Loss, PureDP
from reticent.privacy.numbers import show
from reticent.statistics.context import (
    A_TENTH,
    EVERY,
    HUNDREDTH,
    LARGER,
    TENTH,
    TENTH_PASSES,
    ExpectedAccuracy,
    Setting,
    Step,
    at_each,
    joined,
    least_percentage,
    sure,
)
from reticent.statistics.counts.incomplete_share import IncompleteStep, leaves_out
from reticent.statistics.grammar import parse
from reticent.statistics.prepare import calendar_told, deltas, prepare, years_told
from reticent.statistics.statistic import Ask
from reticent.study.formulas import extended
from reticent.study.incomplete_shares import NO_SHARES, ReleaseShares, beside, place_of_count

if TYPE_CHECKING:
    from reticent.statistics.counts.bounds_choice import BoundsChoiceStep
    from reticent.statistics.counts.cap_choice import CapChoiceStep
    from reticent.statistics.counts.found_keys import FoundKeysStep
    from reticent.statistics.counts.incomplete_share import IncompleteShare
    from reticent.statistics.extensions import Extension

CAVEAT_SHARE: Final = Fraction(1, 20)
DIGITS: Final = 6  # of an epsilon that is solved for: short enough to read

MOST_DRAWS: Final = 100_000  # parts of a proof: each takes about 1.4 kB of a certificate
FEWER: Final = 10  # a plan tells what follows where one row of so many passes a filter
SMALLER_GROUPS: Final = ((TENTH, 10), (HUNDREDTH, 100))
LEAST_SHARE: Final = Fraction(1, 10**12)  # of epsilon or rho: below it a number would not fit a float


@dataclass(frozen=True, slots=True)
class View:
    """Rows that some answers of a release are of, by the places of their steps.

    ``schema`` is that of rows which a condition chose, or None for all rows of the study. ``caveat`` and ``beside``
    tell of these rows what stands beside the answers.
    """

    schema: Schema | None
    places: tuple[int, ...]
    caveat: Step | None = None
    beside: ReleaseShares = NO_SHARES

    @property
    def besides(self) -> tuple[Step, ...]:
        """The steps of what stands beside the answers."""
        return (*([] if self.caveat is None else [self.caveat]), *self.beside.steps)

    @property
    def words(self) -> str:
        """The end of a caveat about these rows alone: `` (where age >= 65)``."""
        if self.schema is None or self.schema.where is None:
            return ""
        return f" (where {write(self.schema.where)})"


@dataclass(frozen=True, slots=True)
class PreparedRelease:
    """Steps in the order asked, with the guarantee of everything together.

    They come with the cap's caveat if one is needed, and with the shares of incomplete rows beside the answers.
    ``extensions`` are those that answer or prove a part, and ``notes`` are caveats of the whole release that public
    facts give. ``asked`` are the questions of the steps. ``schema`` has the columns that they compute, if any do, and
    the cap on rows or the bounds that were chosen, or are supposed. Where a ``choice`` of them comes first,
    ``by_choice`` has the release at each candidate, and ``chosen`` is the place of the one that was drawn.
    ``calendars`` are those of answers that are dates, ``years`` tells of years. Where keys of groups are found first,
    ``choice`` is their list, ``at_keys`` is the release at any keys, and ``chosen`` is how many were listed.
    """

    steps: tuple[Step, ...]
    caveat: Step | None
    guarantee: Guarantee
    beside: ReleaseShares = NO_SHARES
    extensions: tuple[Extension, ...] = ()
    notes: tuple[str, ...] = ()
    asked: tuple[Ask, ...] = ()
    filtered: tuple[View, ...] = ()
    calendars: tuple[Calendar | None, ...] = ()
    years: tuple[bool, ...] = ()
    schema: Schema | None = None
    choice: CapChoiceStep | BoundsChoiceStep | FoundKeysStep | None = None
    by_choice: tuple[PreparedRelease, ...] = ()
    chosen: int | None = None
    at_keys: Callable[[PreparedRelease, Sequence[str]], PreparedRelease] | None = None

    @property
    def key_files(self) -> dict[KeyFile, Keys]:
        """The public files that list keys of groups, with the keys."""
        keys = (item.keys for item in self.asked)
        return {one.file: one for one in keys if one is not None and one.file is not None}

    def schema_of(self, view: View) -> Schema | None:
        """The schema of the rows of a view; None for that of the study."""
        return view.schema or self.schema

    @property
    def views(self) -> tuple[View, ...]:
        """The views of the table that answers are of: that of all rows first, if any answer is."""
        elsewhere = {place for view in self.filtered for place in view.places}
        rest = tuple(place for place in range(len(self.steps)) if place not in elsewhere)
        return (View(None, rest, self.caveat, self.beside), *self.filtered) if rest else self.filtered

    def columns_asked(self, schema: Schema) -> set[str]:
        """The declared columns that it is about, those of its filters and behind computed ones included."""
        found = set[str]()
        for view in self.views:
            steps = (*(self.steps[place] for place in view.places), *view.besides)
            asked = set().union(*(columns_read(query) for step in steps for query in step.queries))
            seen = self.schema_of(view) or schema
            found |= {*needed(seen, [name for name in seen.cells if name in asked])}
        return found

    @property
    def all_steps(self) -> tuple[Step, ...]:
        """The steps in the order asked, then what stands beside them."""
        found = (*self.steps, *(step for view in self.views for step in view.besides))
        return found if self.choice is None else (*found, self.choice)

    def expected(self, place: int, people: int, *, passing: Fraction | None, schema: Schema) -> ExpectedAccuracy:
        """The expectation of a step of ``all_steps`` for so many people, with what is said of the share beside it.

        Parameters
        ----------
        place : int
            Place of the step in ``all_steps``.
        people : int
            Supposed number of persons.
        passing : Fraction or None
            Share of rows that is supposed to pass the filters, or without one to have a value; None for all.
        schema : Schema
            Of the study, with its filter.

        Returns
        -------
        ExpectedAccuracy
            Half-widths at 95 %, in the unit of the answer.
        """
        step, (view, nth) = self.all_steps[place], self._view_of(place)
        filtered = schema.where is not None or self._is_filtered(place)
        size = self.counted(place, people, passing=passing, schema=schema)
        if passing is not None and isinstance(step, IncompleteStep) and not self.filters(where=filtered):
            return step.expected(people, odd=1.0 - float(passing))
        found = self._in_groups(place, size)
        found = found if view is None else view.beside.expected(nth, found)
        if view is None or (size == people and not filtered):
            return found
        if passing is not None:
            told = f"as if {show(passing)} of the rows {'passed the filter' if filtered else 'had a value'}"
            return replace(found, note="; ".join(text for text in (found.note, told) if text))
        fewer = view.beside.expected(nth, step.expected(max(people // FEWER, 1)))
        replies = joined((EVERY, found.replies), (A_TENTH, fewer.replies))
        if sure(found.replies) and not sure(fewer.replies):
            share = least_percentage(lambda size: sure(step.expected(size).replies), people, FEWER)
            found = replace(
                found,
                note="; ".join(filter(None, (found.note, f"a reply is likely if {share} % of the rows or more pass"))),
            )
        return replace(found, replies=replies, others=(*found.others, (TENTH_PASSES, *fewer.headline)))

    def counted(self, place: int, people: int, *, passing: Fraction | None, schema: Schema) -> int:
        """The people whose rows an answer is of: a share of them where it has a filter.

        Where no answer has one, it is the share of rows with a value, and of those that leave out missing cells.

        Parameters
        ----------
        place : int
            Place of the step in ``all_steps``.
        people : int
            Supposed number of persons.
        passing : Fraction or None
            Share of rows that is supposed to count so; None for all.
        schema : Schema
            Of the study, with its filter.

        Returns
        -------
        int
            At least 1.
        """
        if self.filters(where=schema.where is not None):
            fewer = schema.where is not None or self._is_filtered(place)
        else:
            fewer = self._leaves_out(place, schema)
        return max(round(people * (passing or 1)), 1) if fewer else people

    def at_each_cap(
        self,
        place: int,
        people: int,
        found: ExpectedAccuracy,
        printed: Callable[[Step, int], ExpectedAccuracy] | None = None,
    ) -> ExpectedAccuracy:
        """An expectation with the replies at the least, the supposed and the greatest cap that may be chosen.

        Parameters
        ----------
        place : int
            Place of the step.
        people : int
            Supposed number of persons.
        found : ExpectedAccuracy
            At the supposed cap.
        printed : callable, optional
            Gives the expectation of a step for so many people; by default its own.

        Returns
        -------
        ExpectedAccuracy
            As it is where no cap is chosen, or where somebody told how many rows a person has.
        """
        caps = [made.schema.person.rows for made in self.by_choice if made.schema is not None]
        if self.choice is None or self.schema is None or len({*caps}) < 2:
            return found
        if self.choice.setting.schema.person.usual_rows is not None:
            return found
        told = dict(zip(caps, zip(self.choice.candidates, self.by_choice, strict=True), strict=True))
        ends = [told[cap] for cap in sorted({caps[0], self.schema.person.rows, caps[-1]})]
        steps = [(words, made.steps[place]) for words, made in ends]
        each = [(words, step.expected(people) if printed is None else printed(step, people)) for words, step in steps]
        return at_each(each, found)

    def filters(self, *, where: bool) -> bool:
        """Tell if some answer is of rows that a condition chose; ``where`` is true if the study itself has one."""
        return where or any(view.schema is not None and view.places for view in self.filtered)

    def leave_out(self, schema: Schema) -> bool:
        """Tell if some answer of a study of this schema leaves out rows without a value."""
        return any(self._leaves_out(place, schema) for place in range(len(self.steps)))

    def _leaves_out(self, place: int, schema: Schema) -> bool:
        """Tell if a step of ``all_steps`` leaves out rows without a value."""
        return place < len(self.steps) and leaves_out(self.asked[place], self.schema or schema)

    def _in_groups(self, place: int, people: int) -> ExpectedAccuracy:
        """The expectation of a step; by group for groups of equal size, smaller ones, and one of nearly all rows."""
        step = self.all_steps[place]
        found = step.expected(people)
        keys = self.asked[place].keys if place < len(self.steps) else None
        if keys is None or len(keys.labels) < 2:
            return found
        smaller = [(name, step.expected(max(people // times, 1))) for name, times in SMALLER_GROUPS]
        larger = (LARGER, step.expected(max(people * len(keys.labels) * 9 // 10, 1)))
        return replace(
            found,
            replies=joined(("equal groups", found.replies), *((name, one.replies) for name, one in smaller)),
            others=(
                *found.others,
                *(
                    (name, *one.headline)
                    for name, one in (*smaller, larger)
                    if one.noise is not None and one.headline != found.headline
                ),
            ),
        )

    def _is_filtered(self, place: int) -> bool:
        """Tell if a step of ``all_steps`` is about rows that a condition of a question chose."""
        if place < len(self.steps):
            return any(view.schema is not None and place in view.places for view in self.filtered)
        beside = [view.schema is not None for view in self.views for _ in view.besides]
        return dict(enumerate(beside, len(self.steps))).get(place, False)

    def estimand(self, place: int, of_step: str) -> str:
        """The estimand of a step of ``all_steps``, with the rows that count."""
        view, nth = self._view_of(place)
        return of_step if view is None else view.beside.estimand(nth, of_step)

    def _view_of(self, place: int) -> tuple[View | None, int]:
        """The view that an answer is of, and its place there; None for a step that stands beside answers."""
        found = ((view, view.places.index(place)) for view in self.views if place in view.places)
        return next(found, (None, 0))


def settle(
    asked: Sequence[Ask],
    within: Cost,
    schema: Schema,
    units: int | None,
    currency: str,
    known: EarlierShares = NOTHING,
    extensions: Sequence[Extension] = (),
) -> PreparedRelease:
    """Share out the limit, prepare every step, and derive the guarantee of the whole.

    ``currency`` is the ledger's, "approximate" or "zcdp": a release in rho enters an (epsilon, delta) ledger by its
    best conversion at the release's delta. ``known`` is what earlier releases told of incomplete rows. A proof that an
    extension has a part in is derived again before it is charged.

    Parameters
    ----------
    asked : sequence of Ask
    within : Cost
        The price of the whole release.
    schema : Schema
    units : int or None
        The public number of persons.
    currency : str
        Of the ledger: "approximate" or "zcdp".
    known : EarlierShares
        Shares of incomplete rows that earlier releases told.
    extensions : sequence of Extension
        Modules whose proofs are derived again.

    Returns
    -------
    PreparedRelease
        Steps, and the guarantee of the whole.

    Raises
    ------
    QuestionError
        Where it is public that there are no people: then there is nothing to ask about.
    """
    _refuse_unanswerable(asked, units)
    declared, schema = schema, extended(schema, asked)
    if schema is not declared:
        known = NOTHING  # earlier shares are of declared columns
    charged: Currency = "approximate" if within.rho is None and currency == "approximate" else "zcdp"
    noises = tuple(noise for one in extensions for noise in one.on_integers.items())
    schemas = {item.condition: _of_rows(schema, item.condition) for item in asked}
    settings = [
        Setting(
            schemas[item.condition],
            None if schemas[item.condition].person.filtered else units,
            item.keys,
            delta,
            charged,
            noises=noises,
            where="" if item.condition is None else write(item.condition),
            totals=item.totals,
            weight=item.weighed_by,
        )
        for item, delta in zip(asked, deltas(asked, within, charged), strict=True)
    ]
    priced = _priced(asked, settings, within, schema)
    steps: dict[int, Step] = {}
    views: dict[Tree | None, View] = {}
    for condition in schemas:
        places = tuple(place for place, item in enumerate(asked) if item.condition == condition)
        mine = tuple(priced[place] for place in places)
        made, views[condition] = _viewed(mine, places, known, in_rho=within.rho is not None)
        steps |= dict(zip(places, made, strict=True))
    everyone = views.pop(None, View(None, ()))
    in_order = tuple(steps[place] for place in range(len(asked)))
    besides = [step for view in (everyone, *views.values()) for step in view.besides]
    whole = together([step.guarantee for step in (*in_order, *besides)], within, currency)
    _refuse_many_draws(in_order)
    for view in (everyone, *views.values()):
        for step in (*(steps[place] for place in view.places), *view.besides):
            _refuse_columns(step, view.schema or schema)
    found = PreparedRelease(
        in_order,
        everyone.caveat,
        whole,
        everyone.beside,
        asked=tuple(asked),
        filtered=tuple(views.values()),
        schema=None if schema is declared else schema,
        calendars=tuple(calendar_told(item.statistic, schemas[item.condition]) for item in asked),
        years=tuple(years_told(item.statistic, schemas[item.condition]) for item in asked),
    )
    within.admit(ptr.chargeable(whole).loss, epsilon_delta(whole.loss)[0])
    _refuse_twice([step.name for step in in_order])
    if extensions:
        from reticent.statistics.extensions import caveats_of, check_derivable, used_in

        used = used_in(extensions, asked, whole)
        check_derivable(whole, used)
        return replace(found, extensions=used, notes=tuple(caveats_of(used, asked)))
    return found


def _refuse_columns(step: Step, schema: Schema) -> None:
    """Refuse queries of columns that they cannot read, which an extension may ask: the compiler would after the charge.

    Raises
    ------
    QuestionError
    """
    try:
        columns_of(step.queries, schema)
    except QuestionError as error:
        raise QuestionError(f"{step.name}: {error} Nothing was charged.") from None


@dataclass(frozen=True, slots=True)
class PricedAsk:
    """A question with its setting, its share of the loss, and what of that is set aside for the cap's caveat."""

    asked: Ask
    setting: Setting
    amount: Fraction
    aside: Fraction


def _of_rows(schema: Schema, condition: Tree | None) -> Schema:
    """The schema of the rows for which a condition is true; of all rows without one."""
    if condition is None:
        return schema
    from reticent.data.transformations import filtered

    return filtered(schema, condition)


def _refuse_unanswerable(asked: Sequence[Ask], units: int | None) -> None:
    if units == 0:
        raise QuestionError("The table has no people, which is public here. Nothing was charged.")
    if unread := [item.name for item in asked if item.source is not None]:
        raise QuestionError(
            f"{unread[0]}: keys are found by themselves. They are not found beside a chosen cap, chosen bounds or a "
            "wanted width, nor for rows that reach their person through a key. Declare these, or ask for keys first. "
            "Nothing was charged."
        )


def _refuse_twice(names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise QuestionError(f"two questions have the answer {name}. Ask once. Nothing was charged.")


def _priced(asked: Sequence[Ask], settings: Sequence[Setting], within: Cost, schema: Schema) -> list[PricedAsk]:
    """Each question with its share of the limit, and with what of it is set aside for a caveat."""
    free = [_free(item, setting) for item, setting in zip(asked, settings, strict=True)]
    own = [item.epsilon for item in asked]
    if within.rho is not None:
        own = [
            None if amount is None or costs_nothing else _rho(prepare(item, setting, amount))
            for item, setting, amount, costs_nothing in zip(asked, settings, own, free, strict=True)
        ]
    amounts = shares(own, within, free)
    if min(amounts, default=LEAST_SHARE) < LEAST_SHARE:
        raise PublicParameterError(f"{show(min(amounts))} of the loss for one answer is a slip: no noise is that wide")
    set_aside = [
        Fraction(0) if costs_nothing else _set_aside(item, amount, schema)
        for item, amount, costs_nothing in zip(asked, amounts, free, strict=True)
    ]
    return [*map(PricedAsk, asked, settings, amounts, set_aside)]


def _viewed(
    priced: Sequence[PricedAsk], places: tuple[int, ...], known: EarlierShares, *, in_rho: bool
) -> tuple[tuple[Step, ...], View]:
    """The steps of the answers of one view, with what stands beside them."""
    first = priced[0].setting
    plain = Setting(first.schema, first.units)
    asked = [item.asked for item in priced]

    of_rows: Fraction | None = None

    def share(statistic: IncompleteShare, amount: Fraction) -> IncompleteStep:
        made = _step(Ask(statistic), replace(plain, where=first.where), amount, in_rho=in_rho)
        assert isinstance(made, IncompleteStep)
        return made if made.share.rows is not None else replace(made, share=replace(made.share, of_rows=of_rows))

    counted = place_of_count(asked)
    if counted is not None:
        item = priced[counted]
        from reticent.statistics.counts.count_step import CountStep

        count = _step(item.asked, item.setting, item.amount - item.aside, in_rho=in_rho)
        assert isinstance(count, CountStep)
        of_rows = count.mechanism.scale if isinstance(count.mechanism, Geometric) else None
    again = known if first.schema.where is None else NOTHING  # earlier shares are of all rows
    told, for_shares = beside(asked, [item.amount for item in priced], share, plain.schema, plain.units, of_rows, again)
    steps = tuple(
        _step(item.asked, item.setting, item.amount - item.aside - for_share, in_rho=in_rho)
        for item, for_share in zip(priced, for_shares, strict=True)
    )
    aside = sum((item.aside for item in priced), Fraction(0))
    caveat = _step(parse("capped"), replace(plain, where=first.where), aside, in_rho=in_rho) if aside else None
    return steps, View(None if first.schema.where is None else first.schema, places, caveat, told)


def _refuse_many_draws(steps: Sequence[Step]) -> None:
    """Refuse a step whose groups are drawn one by one, and are too many for a certificate that anyone opens."""
    for step in steps:
        if (draws := leaves(step.guarantee, {})) > MOST_DRAWS:
            raise QuestionError(
                f"{step.name} makes {draws:,} draws one by one, and the proof of at most {MOST_DRAWS:,} fits a "
                "certificate. Cut more coarsely, or ask for a count, sum, mean or proportion, whose groups share one "
                "draw. Nothing was charged."
            )


def _free(asked: Ask, setting: Setting) -> bool:
    """Tell if the answer is the same for all neighbours: a public number of people costs nothing."""
    if not asked.statistic.may_be_public:
        return False
    return prepare(asked, setting, Fraction(1)).guarantee.loss == PureDP(Fraction(0))


def _set_aside(asked: Ask, amount: Fraction, schema: Schema) -> Fraction:
    """The part of an answer's share that pays for saying how many people the cap on rows touched."""
    return amount * CAVEAT_SHARE if caveat_is_due(asked, schema) else Fraction(0)


def caveat_is_due(asked: Ask, schema: Schema) -> bool:
    """Tell if a cap on rows per person can change the estimand of this answer."""
    return schema.person.column is not None and asked.counts_rows


def most(asked: Sequence[Ask], within: Cost, currency: Currency, *, wants: bool, left: Callable[[], Loss]) -> Loss:
    """The loss the caller is ready to pay: the charge of a release that fails before it could be priced.

    Parameters
    ----------
    asked : sequence of Ask
        Questions of the release.
    within : Cost
        Total of the release.
    currency : Currency
        Currency of the ledger.
    wants : bool
        Half-widths are wanted: what they take is known once the people are counted, so all that is ``left`` may go.
    left : function
        Function that gives the remaining budget.

    Returns
    -------
    Loss
        Loss in the currency of the ledger.

    Raises
    ------
    PublicParameterError
        Where neither the release nor a question names a loss.
    """
    delta = within.delta or sum((item.delta for item in asked if item.delta is not None), Fraction(0))
    if within.rho is not None:
        if currency == "zcdp":
            return ApproxZCDP(within.rho, delta) if delta else ZCDP(within.rho)
        return approx_of(ZCDP(within.rho), delta) if delta else PureDP(sqrt_up(2 * within.rho))
    own = [item.epsilon for item in asked if item.epsilon is not None]
    total = sum(own, Fraction(0)) if within.epsilon is None else within.epsilon
    if within.epsilon is None and len(own) < len(asked):
        if wants:
            return left()
        if not all(item.statistic.may_be_public for item in asked if item.epsilon is None):
            raise PublicParameterError(NO_TOTAL)
    return ApproxDP(total, delta) if delta and currency == "approximate" else PureDP(total)


def _step(asked: Ask, setting: Setting, amount: Fraction, *, in_rho: bool) -> Step:
    if not in_rho:
        return prepare(asked, setting, amount)
    # All parts of a step cost a fixed share of its epsilon, so its rho is a constant times epsilon squared.
    first = round_down(sqrt_down(2 * amount), DIGITS)
    if setting.delta is not None:  # Gaussian noise has an epsilon that much larger at the same rho
        first = round_down(epsilon_delta(approx_of(ZCDP(amount), setting.delta))[0], DIGITS)
    made = prepare(asked, setting, first)
    if (cost := _rho(made)) == 0:
        return made
    scaled = prepare(asked, setting, round_down(first * sqrt_down(amount / cost), DIGITS))
    return made if cost <= amount < _rho(scaled) else scaled  # that of a conversion is a little off the constant


def _rho(step: Step) -> Fraction:
    return zcdp_of(compose.in_zcdp(step.guarantee).loss).rho
