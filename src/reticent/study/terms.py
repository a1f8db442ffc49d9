"""Terms of a study: its table, who a person is, its public bounds, and the one ledger that its budget stands in.

``StudyTerms`` is the value below ``study.Study``, which adds the verbs that ask. It is a handle: it has no length, no
rows to walk through, and no text but its schema and its budget.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, ParamSpec, Self, TypeAlias, TypeVar

from reticent.data.expression_tree import write
from reticent.data.format import Limits, in_database, is_spark, is_there, path_of
from reticent.data.schema import Category, Column, Schema, code_doubts, kind_of, value_words
from reticent.errors import (
    BudgetError,
    Fault,
    LedgerError,
    PublicParameterError,
    QuestionError,
    Refusal,
    ReticentError,
    SpecError,
    at_terminal,
    doors,
    first_of,
    warn,
)
from reticent.privacy.loss import Loss, words
from reticent.privacy.numbers import Number, read, show

# What a study does is imported where it is done, so that importing the package costs little more than NumPy.
if TYPE_CHECKING:
    from reticent.certificate.snapshot import EarlierShares
    from reticent.data.notation import Notation
    from reticent.data.query import Keys, Query
    from reticent.data.schema import Key
    from reticent.data.source import Source
    from reticent.data.spec import Spec
    from reticent.data.table import Table
    from reticent.ledger import Ledger
    from reticent.ledger.claim_file import Source as LedgerSource
    from reticent.privacy.adjacency import Adjacency
    from reticent.privacy.filters import Currency
    from reticent.statistics.extensions import Extension
    from reticent.statistics.scaling import Bound
    from reticent.study.allocation import PreparedRelease
    from reticent.study.memory_forecast import BroughtRecords

S = TypeVar("S", bound="StudyTerms")
Budget: TypeAlias = "tuple[Loss, Ledger | None]"  # what is left, and the ledger, where there is one


@dataclass(frozen=True, slots=True, eq=False)
class StudyTerms:
    """A handle on one table, on what is declared of it, and on its one budget."""

    spec: Spec
    _rows: object
    _ledger: Ledger | None = None
    _groups: Keys | None = None
    on_stage: Callable[[str], None] | None = None  # called with the name of each stage of a release as it begins
    on_rows: Callable[[int, float], None] | None = None  # called with the rows read, and the share that is done
    on_swallowed: Callable[[], None] | None = None  # called where a quoted cell took in many lines; of rows, as on_rows
    on_changed: Callable[[str], None] | None = None  # called with the name of a partition that changed; as on_rows
    extensions: tuple[Extension, ...] = ()  # statistics and mechanisms of third parties that were passed by hand
    _passing: Fraction | None = None  # the share of rows that plans suppose to pass a filter
    _guess: dict[str, Fraction] = field(default_factory=dict)  # people and rows last told to a plan, for warnings alone
    _same_people: bool = False  # the curator says so of a source that changed since its last release
    _size_checked: bool = False  # the command line has, or the refusal would stand in a document that is kept
    _handles: dict[str, Ledger] = field(default_factory=dict)  # on the ledger, by its path; shared with what is derived

    @property
    def title(self) -> str:
        return self.spec.title

    @property
    def schema(self) -> Schema:
        return self.spec.schema

    @property
    def ledger(self) -> Ledger:
        """The one ledger of this study; opened, or created and claimed for the source, when first used.

        Raises
        ------
        SpecError
            The study file names no ledger: without one nothing would remember what is spent.
        LedgerError
            Another ledger counts for this source, or the file cannot be used.
        """
        if self._ledger is not None:
            return self._ledger
        if self.spec.ledger is None:
            from reticent.data.file_kinds import stem_of

            stem = stem_of(self._place) or "study"
            raise SpecError(f'Name a ledger, which outlives this process: [study] ledger = "{stem}.ledger".')
        from reticent.data.source import identity_of
        from reticent.ledger.fingerprint import open_for, source_at
        from reticent.ledger.terms import AnotherSource

        try:
            self._handles[self.spec.ledger] = open_for(
                source_at(identity_of(self._place)),
                self._declared,
                self.spec.ledger,
                further=self._further_places(),
                title=self.spec.title,
                adjacency=self.schema.person.protected,
                person=self.schema.person.protected_column,
                budget=self.spec.budget.loss,
                approved=self.spec.budget.approved or None,
                ends=self.spec.budget.ends,
                handle=self._handles.get(self.spec.ledger),
            )
        except LedgerError as problem:
            missing = self._missing()
            if not missing:
                raise
            if isinstance(problem, AnotherSource):
                raise SpecError(f"{missing} Nothing was read.") from None
            raise LedgerError(f"{missing} {problem}") from None
        return self._handles[self.spec.ledger]

    @property
    def bounds(self) -> Mapping[str, Bound]:
        """The public bounds of every numeric column that has them, by name: for ``Clip(study.bounds)``."""
        from reticent.study.handles import bounds_of

        return bounds_of(self.schema)

    def left(self) -> Loss:
        """Remaining budget of the ledger."""
        return self.ledger.left()

    # --- inside ---------------------------------------------------------------------------------------------------

    @property
    def _place(self) -> str:
        """The source as a path, or an empty text for a table in memory."""
        return self.spec.source if self._rows is None else path_of(self._rows)

    @property
    def _notation(self) -> Notation | None:
        """The notation of the source, in which made-up rows come back; None of rows in memory."""
        if not self._place:
            return None
        from reticent.data.notation import Notation

        return Notation.of(self._place, self.spec.delimiter, self.schema)

    @property
    def _worded(self) -> Callable[[str], str]:
        """The wording of what to declare: in lines of the study file, or in arguments of ``rt.study``."""
        return str if self.spec.source else python_words

    def _missing(self) -> str:
        """Words for a source that is a file and is not there; empty where it is."""
        from reticent.data.file_kinds import meant_file

        if not self._place or in_database(self._place) or is_there(Path(self._place)):
            return ""
        near = meant_file(Path(self._place))
        return f"There is no file {Path(self._place).name}{f'.{near}' if near else ': is the source misspelt?'}"

    def _file(self) -> Path | None:
        """The source, if it is a file that is read here, and not on a cluster."""
        return None if not self._place or self._is_elsewhere else Path(self._place)

    @property
    def _is_elsewhere(self) -> bool:
        """True for rows in a database or on a cluster."""
        return in_database(self._place) or self.spec.engine == "spark" or is_spark(self._rows)

    @property
    def _declared(self) -> list[str]:
        own = [*self.schema.stored, *self.schema.named]
        if not self.schema.tables:
            return own
        from reticent.data.joins import further_columns
        from reticent.ledger.fingerprint import further_names

        return [*own, *further_names(further_columns(self.schema), self._further_places())]

    @property
    def _join_lines(self) -> tuple[str, ...]:
        """Every join of further tables, one line each."""
        if not self.schema.tables:
            return ()
        from reticent.data.joins import lines

        return tuple(lines(self.schema))

    def _further_places(self) -> Mapping[str, LedgerSource]:
        """The places of further private tables, each of which is claimed for the ledger too."""
        if not self.schema.tables:
            return {}
        from reticent.data.further_tables import places

        return places(self.schema, self.spec.further, public=False)

    def _further_sources(self) -> Mapping[str, Source]:
        """The rows of further tables, by name."""
        if not self.schema.tables:
            return {}
        from reticent.data.further_tables import sources

        return sources(self.schema, self.spec.further)

    def _refuse_changed(self, word: str = "study.same_people()") -> None:
        """Refuse a source under another ledger, and one that changed unless the curator says whose rows it has."""
        if not self._place:
            return
        from reticent.data.source import identity_of
        from reticent.ledger.fingerprint import claim_each, source_at, source_changed

        source = source_at(identity_of(self._place))
        if self._ledger is not None and not self._missing():  # it was opened before, and other rows may be there now
            claim_each((source, *self._further_places().values()), self._declared, self._ledger)
        changed = None if self._same_people else source_changed(source, word)
        if changed is not None:
            again = " Give [study] snapshot another word." if self.spec.snapshot else ""
            raise LedgerError(f"{changed}{again} Nothing was charged.")

    def _limited(self, limits: Mapping[str, object] | None) -> Limits:
        """The limits of the study, under those of one release."""
        if not limits:
            return self.spec.limits
        from reticent.data.engines.engine import limited

        return limited(self.spec.limits, limits)

    def _refuse_too_large(
        self, asked: PreparedRelease | BroughtRecords, limits: Mapping[str, object] | None = None
    ) -> None:
        """Refuse rows that cannot fit or be read in time, before the charge, at the curator's own terminal."""
        if not self._size_checked and at_terminal():
            from reticent.study.size_forecast import refuse_too_large

            spelt = '[engine] spill = "{}GB"' if self.spec.source else 'engine={{"spill": "{}GB"}}'
            refuse_too_large(self, lambda: asked, self._limited(limits), spelt)

    def _refuse_records(self, columns: Collection[str], cells: int, of_row: tuple[float, int] = (0.0, 0)) -> None:
        """Refuse records that cannot fit, of a session or a fit, as rows of a release.

        Parameters
        ----------
        columns : collection of str
            Declared ones that are read.
        cells : int
            Numbers of a row.
        of_row : pair of float and int
            Seconds that a row takes once it was read, and bytes beside its cells.
        """
        if at_terminal():
            from reticent.study.memory_forecast import BroughtRecords

            self._refuse_too_large(BroughtRecords(tuple(columns), cells, *of_row))

    def _table(self, limits: Mapping[str, object] | None = None) -> Table:
        self._refuse_changed()
        within = self._limited(limits)
        for said in self._refused_by_engine(within):  # before a session of it is started
            raise SpecError(f"{said} Nothing was read.")
        from reticent.data.table import open_table
        from reticent.ledger.account import protected_log

        source = self._rows if self._rows is not None else self._place
        table = open_table(
            source,
            self.schema,
            delimiter=self.spec.delimiter,
            log=protected_log,
            limits=within,
            seen=self.on_rows,
            swallowed=self.on_swallowed,
            further=self._further_sources(),
            engine=self.spec.engine,
        )
        if not self.spec.limits.partitions:
            return table
        from reticent.data.partitions import in_partitions

        return in_partitions(table, self.spec.limits.partitions, self.on_changed)

    def _refused_by_engine(self, limits: Limits | None = None) -> list[str]:
        """Words of what a release refuses of its engine, known without its rows; of other limits than the study's."""
        limits, place = limits or self.spec.limits, self._place
        if limits == Limits():
            return []
        from reticent.data.engines.engine import refused_settings

        return [self._worded(said) for said in refused_settings(self._engine, limits, self.schema, place)]

    @property
    def _engine(self) -> str:
        """The name of the engine that reads the rows, known without them."""
        from reticent.data.engines.engine import engine_at

        return "spark" if is_spark(self._rows) else engine_at(self._place, self.spec.engine)

    def _transferred(self, brought: Iterable[tuple[str, Sequence[Query] | None]]) -> tuple[str, ...]:
        """Notes of a plan on cells that leave the database or the cluster: those of queries, else of whole rows."""
        if not self._is_elsewhere:
            return ()
        from reticent.study.transfer import notes

        return notes(self._engine, brought, self.schema.columns)

    def _probe(self, table: Table) -> None:
        from reticent.data.table import check_engine

        check_engine(table)

    def _public_people(self, table: Table, charge: Callable[[], Loss], who: str) -> int | None:
        """The public number of persons: read under substitution, declared otherwise; None where it is private.

        Reading can fail only where the rows cannot be read at all. That failure could tell something of them. So it is
        no refusal but a fault, and costs the ``charge`` of the release, which is computed before any row is read.

        Parameters
        ----------
        table : Table
        charge : function
            Computes the loss of the release.
        who : str
            Who asks, for the ledger.

        Returns
        -------
        int or None

        Raises
        ------
        Fault
            The rows cannot be counted; the loss is charged.
        """
        from reticent.data.table import EngineFailure

        person = self.schema.person
        if not person.neighbours().size_public:
            return person.people
        self._refuse_records((), 0)  # persons that cannot be counted would end in a fault
        cost = charge()
        try:
            found = table.units()
        except EngineFailure as failure:
            reference = failure.reference
        else:
            return person.counted(found)

        kept = self.ledger
        what, adjacency = "a release that could not be read", person.protected
        try:
            receipt = kept.reserve(cost, adjacency=adjacency, what=what, who=who)
        except Refusal:  # rows were touched, so a refusal is no longer possible: all that is left goes
            cost = kept.left()
            receipt = kept.reserve(cost, adjacency=adjacency, what=what, who=who)
        kept.fail(receipt, reference)
        raise Fault(reference, words(cost))

    def _assumed(self, people: int | None) -> tuple[int, bool]:
        """The number of people of a plan, and whether it is only assumed."""
        from reticent.statistics.shares import ASSUMED

        at_least_one(people)
        known = self.schema.person.people if people is None else people
        return (ASSUMED, True) if known is None else (known, False)

    def _supposing(self, rows: Number | None) -> Self:
        """The same study for a plan that supposes so many rows of a person; what it buys stays the same."""
        if rows is None:
            return self
        supposed, person = read(rows, "rows"), self.schema.person
        if not 1 <= supposed <= person.rows:
            raise PublicParameterError(
                f"rows is how many kept rows a person has on average: from 1 to {person.rows}, the most that are kept, "
                f"got {show(supposed)}. Rows above the most count in nothing. Nothing was charged."
            )
        schema = replace(self.schema, person=replace(person, supposed=supposed))
        return replace(self, spec=replace(self.spec, schema=schema))

    def _remember(self, people: int | None, rows: Number | None) -> None:
        """Keep public numbers that a plan was told: the warning of a release, and nothing else, is about them."""
        if people is not None or rows is not None:
            self._guess.clear()
            self._guess.update({} if people is None else {"people": Fraction(people)})
            self._guess.update({} if rows is None else {"rows": read(rows, "rows")})

    def _guessed(self) -> tuple[int | None, Fraction | None]:
        """The people that a plan was told last, and the rows of each, of which so many as are kept; None for none."""
        people, rows = self._guess.get("people"), self._guess.get("rows")
        most = Fraction(self.schema.person.rows)
        return None if people is None else int(people), None if rows is None else min(rows, most)

    def _warn_of_notation(self, asked: Collection[str], keys: Mapping[str, tuple[Key, ...]] | None = None) -> None:
        """Warn of columns asked for whose cells may be spelt otherwise than declared, or bounds read off. Reads no row.

        ``keys`` are those that questions name of columns of texts.
        """
        from reticent.data.columns import bounds_doubts

        doubts = bounds_doubts(self.schema)
        doubts += [one for one in code_doubts(self.schema) if not self.schema.columns[one[0][0]].why]
        if self._place or self.spec.further:
            from reticent.data.study_file import notation_doubts

            doubts += notation_doubts(replace(self.spec, source=self._place), keys)
        for columns, said in doubts:
            if not {*asked}.isdisjoint(columns):
                warn(self._worded(said))

    def _left_of_plan(self) -> Budget:
        """The budget that is left, with the ledger, if there is one already."""
        ledger = self._existing()
        return (self.spec.budget.loss if ledger is None else ledger.left()), ledger

    def _check_left(self, ledger: Ledger | None, charge: Loss, adjacency: Adjacency) -> None:
        """Refuse what the ledger would not take, or the budget where there is no ledger yet."""
        check_left(charge, adjacency, ledger, self.spec.budget.loss)

    def _note(self, refusal: Refusal, what: str, who: str) -> None:
        """A line in the ledger for a request that was declined; a ledger that cannot take it changes nothing.

        Rows that are too large leave none: a ledger is shown to others, and the size may be private.
        """
        from reticent.study.size_forecast import TooLarge

        if isinstance(refusal, TooLarge):
            return
        with suppress(Refusal):
            if (ledger := self._existing()) is not None:
                ledger.note_refusal(what, who=who, code="4" if isinstance(refusal, BudgetError) else "5")

    def _known(self) -> EarlierShares:
        from reticent.certificate.snapshot import NOTHING, known

        if self.schema.where is not None or self.schema.computed or self.schema.tables:
            # earlier shares are of all rows, by names of columns of one table
            return NOTHING
        if self.schema.person.ladder is not None:  # and of rows under a cap that is known
            return NOTHING
        return known(self.spec, self._place, self._existing)

    @property
    def _currency(self) -> Currency:
        from reticent.privacy.filters import currency

        return currency(self.spec.budget.loss)

    def _existing(self) -> Ledger | None:
        """The ledger if there is one already; a plan creates nothing."""
        if self._ledger is not None:
            return self._ledger
        path = self.spec.ledger
        if path is None:
            return None
        if in_database(path):
            from reticent.ledger.account import ledger_at

            return self.ledger if ledger_at(path) else None
        return self.ledger if Path(path).exists() else None

    def __repr__(self) -> str:
        columns = first_of(f"{name} ({kind_words(column)})" for name, column in self.schema.columns.items())
        told = f"Study '{self.title}'\n  columns  {columns}\n  person   {self.schema.person.protected.words()}\n"
        told += f"  budget   {words(self.spec.budget.loss)}"
        if self.schema.where is not None:
            told += f"\n  where    {write(self.schema.where)}"
        if self._groups is not None:
            told += f"\n  by       {self._groups.title}"
        missing = self._missing()
        if not (self.spec.source or self.schema.person.column):
            told += "\n  note     each row counts as another person: person= names the column that says whose it is"
        return f"{told}\n  source   {missing}" if missing else told

    def _repr_html_(self) -> str:
        from reticent.pages.markup import render

        return render("text", {"lines": repr(self).split("\n")})

    def _refuse(self, *_: object) -> NoReturn:
        raise QuestionError(
            "A study is a handle on private rows. Its length is a statistic: study.release([rt.count()], epsilon=…)."
        )

    __len__ = __iter__ = __contains__ = __getitem__ = _refuse

    def __bool__(self) -> bool:
        return True

    def __copy__(self: S, memo: object = None) -> S:
        return self

    __deepcopy__ = __copy__


def under_its_ledger(spec: Spec) -> Spec:
    """The same study, whose cap on rows has as its ceiling the larger one of the ledger that is there already.

    Fewer rows of a person are kept inside each person, so the ledger's guarantee covers them (docs/proofs/caps.md). A
    ledger that cannot be read changes nothing: it is refused where it is used.
    """
    schema, path = spec.schema, spec.ledger
    if path is None or schema.person.column is None or schema.owner:
        return spec
    from reticent.ledger.account import Ledger, ledger_at

    with suppress(Refusal):
        if ledger_at(path):
            person = schema.person.under(Ledger.open(path).adjacency)
            return spec if person is schema.person else replace(spec, schema=replace(schema, person=person))
    return spec


P = ParamSpec("P")
T = TypeVar("T")


def check_left(charge: Loss, adjacency: Adjacency, ledger: Ledger | None, left: Loss) -> None:
    """Refuse what the ledger would not take; where there is none, what is more than the budget.

    Parameters
    ----------
    charge : Loss
    adjacency : Adjacency
        Neighbours of the charge.
    ledger : Ledger or None
    left : Loss
        The budget where there is no ledger.

    Raises
    ------
    Refusal
        With the words of a release.
    """
    if ledger is not None:
        ledger.check(charge, adjacency=adjacency)
        return
    from reticent.privacy import filters
    from reticent.privacy.shortfall import too_little

    if not filters.admits(left, nothing := filters.nothing(left), charge):
        raise BudgetError(too_little(charge, left, nothing))


def current_options(owner: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """A decorator for a method that lost options: one of them is refused with its spelling of today."""

    def of(method: Callable[P, T]) -> Callable[P, T]:
        @functools.wraps(method)
        def called(*given: P.args, **named: P.kwargs) -> T:
            if not named.keys() <= known:
                from reticent.former_names import refuse_options

                refuse_options(owner, named, known)
            return method(*given, **named)

        known = inspect.signature(method).parameters.keys()
        return called

    return of


def python_words(said: str) -> str:
    """Words about a study file as words about the arguments of ``rt.study``."""
    from reticent.data.spelling_hints import in_python

    return in_python(said)


def in_python_words(study: object, refused: ReticentError) -> None:
    """Say what to declare as ``rt.study`` takes it, where no study file is."""
    if isinstance(refused, Refusal) and isinstance(study, StudyTerms):
        refused.args = (study._worded(str(refused)),)


def at_least_one(people: int | None) -> None:
    """Refuse a number of people that is none."""
    if people is not None and (isinstance(people, bool) or not isinstance(people, int) or people < 1):
        raise PublicParameterError(f"people must be an integer >= 1, got {people}")


def kind_words(column: Column) -> str:
    """``category of 3``, ``real 0 to 60``: what is asked of, as a study shows it."""
    if isinstance(column, Category):
        return f"category of {len(column.among)}"
    if column.low is None or column.high is None:
        return kind_of(column)
    return f"{kind_of(column)} {value_words(column.low, column)} to {value_words(column.high, column)}"


doors(StudyTerms, in_python_words)
