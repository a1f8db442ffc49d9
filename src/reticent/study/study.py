"""A study: a table, who a person is, public bounds, and a budget; ask, plan, rehearse, release.

A ``Study`` is a handle: it shows schema and budget, never a row, a count or a size. Everything that reads rows is a
method of it. The table and the ledger are of its terms (``study.terms``); ``study.preparation`` prices its questions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, NoReturn

from reticent.data import formula
from reticent.data.expression_tree import write
from reticent.data.schema import Key
from reticent.errors import PublicParameterError, QuestionError, Refusal, doors, refusing
from reticent.privacy.cost import Cost
from reticent.privacy.numbers import Number
from reticent.statistics.statistic import read_clause
from reticent.study import sessions
from reticent.study.terms import StudyTerms, at_least_one, current_options, in_python_words

# What a study does is imported where it is done, so that importing the package costs little more than NumPy.
if TYPE_CHECKING:
    from reticent.certificate.record import Record
    from reticent.conformance.plan_audit import PlanAudit
    from reticent.data.formula import Expression
    from reticent.data.query import Keys
    from reticent.data.spec import ReleaseSpec, Spec
    from reticent.learning.fit.handles import Handle
    from reticent.statistics.density import DensityOf
    from reticent.statistics.extensions import Extension
    from reticent.statistics.statistic import Ask
    from reticent.study.formulas import Questions
    from reticent.study.plan import Plan
    from reticent.study.rehearsal import Rehearsal
    from reticent.study.release import Release
    from reticent.study.selection import Selection
    from reticent.study.synthetic import Synthetic


@dataclass(frozen=True, slots=True, eq=False, repr=False)  # one of a dataclass would print the rows
class Study(StudyTerms):
    """A handle on one table and its one budget. Make one with ``rt.open`` or ``rt.study``."""

    if not TYPE_CHECKING:  # a name of 0.1.0 says what it is called now

        def __getattr__(self, name: str) -> NoReturn:
            from reticent.former_names import missing

            raise missing("study", name)

    # --- asking ---------------------------------------------------------------------------------------------------

    def same_people(self) -> Study:
        """The study, of whose changed source the curator says that its rows are of the same people.

        A source that looks different since its last release is refused. Releases on old and new rows of the same people
        add up in one ledger. New people need a study of their own.
        """
        return replace(self, _same_people=True)

    def by(
        self,
        *columns: str | Expression,
        among: Sequence[Key | tuple[Key, ...]] | None = None,
        groups: int | None = None,
    ) -> Study:
        """The same study, asked by group: every answer then has one cell per public group.

        Parameters
        ----------
        *columns : str or Expression
            A column of keys, or several: then each combination of their keys is a group.
        among : sequence, optional
            The groups that are wanted, of several columns one key of each in a tuple; by default all there are. Of an
            integer column they may be few of a range however wide.
        groups : int, optional
            Most groups one person may be in, if fewer than their rows allow; enforced, and the price falls with it.

        Returns
        -------
        Study
            With the same ledger.
        """
        from reticent.study.formulas import keys_of

        return replace(self, _groups=keys_of(self.schema, read_clause(columns), among, groups))

    def where(self, condition: str | Expression) -> Study:
        """The same study of the rows for which a condition is true: every answer, session and density is of them.

        Parameters
        ----------
        condition : str or Expression
            ``"age >= 65"`` or ``rt.col("age") >= 65``. It joins a condition that the study has already.

        Returns
        -------
        Study
            With the same ledger. How many rows and people are left is private.

        Raises
        ------
        QuestionError
            What is no condition of the declared columns, or is false for every row that they allow.
        """
        from reticent.data.transformations import filtered

        try:
            return replace(self, spec=replace(self.spec, schema=filtered(self.schema, formula.read(condition))))
        except QuestionError as refused:
            from reticent.data.spelling_hints import hinted

            refused.args = (hinted(str(refused), [f"where {condition}"], self.schema.cells),)
            raise

    def passing(self, share: Number | None) -> Study:
        """The same study, whose plans suppose that this share of rows passes a filter, or without one has a value.

        Parameters
        ----------
        share : number or None
            A public guess, above 0 and at most 1: without a filter 0.7, if 30 % of cells are missing. By default every
            row counts, and a plan says so. It moves no answer, and no price but that of a wanted width.

        Returns
        -------
        Study
            With the same ledger.
        """
        from reticent.data.spec import read_passing

        return replace(self, _passing=None if share is None else read_passing(share))

    @current_options("study.plan")
    def plan(
        self,
        questions: Questions = (),
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        people: int | None = None,
        rows: Number | None = None,
        want: Mapping[str, float] | None = None,
        override: str = "",
    ) -> Plan:
        """Plan a release: its cost and its expected accuracy. Free: no row is read and nothing is charged.

        Parameters
        ----------
        questions : statistic, text, or sequence of them
            ``[rt.mean("x"), "median(y)"]``.
        epsilon, rho : number, optional
            Total of the release, or the total in zCDP; not both.
        delta : number, optional
            Only where something needs it.
        override : str
            The reason for an epsilon above 10.
        people : int, optional
            How many people to assume; by default the declared number, else 10,000, and the plan says so. The warning
            of a later release, where their number is private, is about the people and rows last told to a plan.
        rows : number, optional
            How many kept rows a person has on average. By default it is the declared typical number, else a
            guess by the cap, which the plan states. It moves widths alone: a release buys the same at the same price.
        want : mapping of name to half-width, optional
            Accuracy first: each named answer gets the least epsilon, on a grid of 1/1000, whose noise half-width
            at 95 % is at most that. The answers of a difference or a total, ``difference(mean(x), mean(y))``, get the
            epsilons with the least sum. Questions may be left out then.

        Returns
        -------
        Plan
            Cost and expected half-widths at 95 %, in the unit of each answer.

        Raises
        ------
        QuestionError, PublicParameterError
            What cannot be asked; what no epsilon reaches, with the reason.
        """
        from reticent.study import plan, preparation

        joined, questions, cost = preparation.join(self, questions, (epsilon, rho, delta))
        of = joined._supposing(rows)
        within = preparation.cost_of_plan(cost, override, people)
        prepared, terms = preparation.settle_plan(of, questions, within, people, want)
        self._remember(people, rows)
        preparation.warn_of_notation(of, prepared)
        assumed = people is None and self.schema.person.people is None
        left, ledger = self._left_of_plan()
        made = plan.plan_of(prepared, terms, assumed=assumed, left=left, ledger=ledger, want=want, source=self._file())
        fewer = prepared.filters(where=of.schema.where is not None) or prepared.leave_out(of.schema)
        idle = "passing tells of rows that pass a filter or have a value, and every question here is of all rows"
        brought = ((step.name, step.queries) for step in prepared.all_steps)  # that of a choice too
        noted = (*preparation.public_notes(self, within, prepared), *self._transferred(brought))
        made = replace(made, noted=noted if fewer or self._passing is None else (*noted, idle))
        return made._refused_too(self._refused_by_engine())

    @current_options("study.rehearse")
    def rehearse(
        self,
        questions: Questions,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        people: int | None = None,
        rows: Number | None = None,
        override: str = "",
    ) -> Rehearsal:
        """Run a release on made-up rows drawn from the schema: free, reproducible, and about nobody.

        Parameters
        ----------
        questions : statistic, text, or sequence of them
            ``[rt.mean("x"), "median(y)"]``.
        epsilon, rho : number, optional
            Total of the release, or the total in zCDP; not both.
        delta : number, optional
            Only where something needs it.
        override : str
            The reason for an epsilon above 10. Nothing is charged.
        people : int, optional
            Number of made-up persons, >= 1; by default the declared number up to 100,000, else 1,000.
        rows : number, optional
            How many rows a person has on average; by default the declared typical number, else from one to the most.

        Returns
        -------
        Rehearsal
            Made-up answers, the same each time.
        """
        from reticent.study import preparation, rehearsal

        at_least_one(people)
        people = people or min(self.schema.person.people or 1_000, rehearsal.MOST_PEOPLE)
        joined, questions, cost = preparation.join(self, questions, (epsilon, rho, delta))
        of = joined._supposing(rows)
        public = people if self.schema.person.adjacency == "substitute" else self.schema.person.people
        prepared = preparation.prepare(of, questions, Cost.read(*cost, override), public)
        return rehearsal.rehearse(prepared, of.schema, people)

    def audit(
        self,
        questions: Questions | Plan = (),
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        people: int | None = None,
        want: Mapping[str, float] | None = None,
        triples: int = 200,
        override: str = "",
    ) -> PlanAudit:
        """Run the compiled plan on made-up neighbours and compare: a check of the code, free, before a release.

        It is run on pairs of small tables, made from the schema alone, with the same noise: nothing published may
        differ, and no exact number move further than declared. The rows of the study are not opened.

        Parameters
        ----------
        questions : Plan, statistic, text, or sequence of them
            What ``plan`` returned, whose cost is settled, or questions as it takes them.
        epsilon, rho : number, optional
            Total of the release, or the total in zCDP; not beside a plan, which has its own.
        delta : number, optional
            Only where something needs it.
        people : int, optional
            Number of people to assume; not beside a plan.
        want : mapping of name to half-width, optional
            Half-widths of the noise at 95 %, by answer; not beside a plan.
        override : str
            The reason for an epsilon above 10; not beside a plan.
        triples : int
            How many pairs, each with one tape of noise, extremes first.

        Returns
        -------
        Audited
            ``verdict`` is "passed" or "refuted", ``words`` one line for people. The same each time for the same plan.

        Raises
        ------
        QuestionError, PublicParameterError
            What cannot be asked; a plan of another study.
        """
        from reticent.conformance.plan_audit import audit
        from reticent.study import plan, preparation

        of = self
        if not isinstance(questions, plan.Plan):
            of, questions, cost = preparation.join(self, questions, (epsilon, rho, delta))
            within = preparation.cost_of_plan(cost, override, people)
            prepared, _ = preparation.settle_plan(of, questions, within, people, want)
        elif override or any(given is not None for given in (epsilon, rho, delta, people, want)):
            raise PublicParameterError("a plan has its cost and its people already: audit it by itself")
        else:
            prepared = questions.prepared_for(self.schema)
        told = self.on_rows
        return audit(prepared, of.schema, triples=triples, seen=None if told is None else lambda share: told(0, share))

    @refusing()
    @current_options("study.release")
    def release(
        self,
        questions: Questions = (),
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        want: Mapping[str, float] | None = None,
        purpose: str = "",
        record: Record | None = None,
        limits: Mapping[str, str | float] | None = None,
    ) -> Release:
        """Publish answers: charge the ledger, read the rows, draw the noise, certify.

        Parameters
        ----------
        questions : statistic, text, or sequence of them
        epsilon : number, optional
            Total of the release: int, decimal text, Fraction or Decimal; a float is read by its shortest text.
        rho : number, optional
            The total in zCDP instead. In a study with an (epsilon, delta) budget ``delta`` names the conversion.
        delta : number, optional
            Only where something needs it; a spare delta is not charged.
        want : mapping of name to half-width, optional
            Each named answer gets the least epsilon whose noise has this half-width, at 95 %. It needs a public number
            of people: substitution, or ``people`` in the study.
        purpose : str
            Of the release, for the ledger and the certificate.
        record : Record, optional
            What else these keep: ``rt.Record(name=..., who=..., key=..., override=...)``. With ``try_anyway=True`` a
            release that would most likely be no reply is not refused. ``audit="quick"`` tries the plan on made-up
            neighbours first. The same ``request_id`` gives the stored answer again, with no second charge.
        limits : mapping of name to limit, optional
            Other limits than the study's, for this release: ``{"memory": "8GB", "threads": 4, "timeout": 600}``.
            "timeout" is the seconds that the rows may be read for. What takes longer ends before the draw, in the one
            opaque fault, and stays charged. That it did depends on the rows: only the curator may choose it.

        Returns
        -------
        Release
            Answers by name, with intervals; an answer may be no reply.

        Raises
        ------
        Refusal
            Before any row is read; nothing was charged.
        Fault
            After the charge; the charge stays.
        """
        from reticent.certificate.record import ReleaseMetadata, check_text, record_of
        from reticent.data.source import name_of
        from reticent.entropy import system
        from reticent.study import preparation, release

        about, stage = record_of(record), self.on_stage or (lambda _: None)
        check_text(purpose, "purpose")
        asked: Sequence[Ask] = ()
        try:
            within = Cost.read(epsilon, rho, delta, about.override)
            signer = None
            if about.key is not None:
                from reticent.certificate.keys import load_private

                signer = load_private(about.key)
            asked = preparation.read_questions(self, questions) if questions else ()
            request = None
            if about.request_id is not None:
                from reticent.study.stored_answer import earlier, request_digest

                request = about.request_id, request_digest(asked, within, want, self)
                if found := earlier(self, request, about.who):
                    return release.released_before(*found)._in(self._notation, self._worded)
            existing = self._existing()
            unread = preparation.priced_unread(self, existing, asked, within, want, typed=questions)
            table = self._table(limits)
            if unread is None:
                self._probe(table)
                units = preparation.count_people(self, table, asked, within, about.who, wants=want is not None)
            prepared, terms = unread or preparation.priced(self, asked, within, units, want, typed=questions)
            ledger = self.ledger if existing is None else existing
            ledger.check(prepared.guarantee.loss, adjacency=prepared.guarantee.adjacency)
            preparation.warn_of_notation(self, prepared)
            if not (about.try_anyway or terms.is_sure(prepared)):
                from reticent.study.remedies import refuse_hopeless

                refuse_hopeless(terms, prepared)
            if unread is not None:  # the engine is opened last
                self._probe(table)
            audited = None
            if about.audit is not None:
                from reticent.conformance.plan_audit import before

                stage("audit")
                audited = before(prepared, self.schema, about.audit)
            self._refuse_too_large(prepared, limits)  # last: what else is refused is noted, whatever the size
        except Refusal as refusal:
            self._note(refusal, about.name or ", ".join(one.name for one in asked)[:200] or "a release", about.who)
            raise
        metadata = ReleaseMetadata(
            title=self.title,
            name=about.name,
            purpose=purpose,
            who=about.who,
            source=name_of(self._place),
            approved=self.spec.budget.approved,
            ends=None if self.spec.budget.ends is None else self.spec.budget.ends.isoformat(),
            people=terms.units,
            override=about.override,
            audit=None if audited is None else audited.to_json(),
            snapshot=self.spec.snapshot,
            where="" if self.schema.where is None else write(self.schema.where),
            tables=self._join_lines,
            unit=self.schema.person.unit,
            household=self.schema.person.household_words,
            request=request,
        )
        return release.run(prepared, table, self.schema, ledger, metadata, system(), signer, stage)._in(
            self._notation, self._worded
        )

    @current_options("study.sql")
    def sql(
        self,
        statement: str,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        purpose: str = "",
        record: Record | None = None,
    ) -> Selection:
        """Publish what a SELECT asks: its aggregates are released, its arithmetic on them is free.

        ``study.plan(statement)`` says what it costs and gives; ``study.rehearse(statement)`` asks made-up rows.

        Parameters
        ----------
        statement : str
            ``SELECT ward, AVG(cost) FROM study WHERE age >= 65 GROUP BY ward``.
        epsilon, rho : number, optional
            Total of the release, or the total in zCDP; not both. The statement's options may have epsilon and delta.
        delta : number, optional
            Only where something needs it.
        purpose : str
            Of the release, for the ledger and the certificate.
        record : Record, optional
            Name, person who asks, signing key, override and request id, as in ``release``.

        Returns
        -------
        Selection
            Rows of released numbers with intervals; its ``release`` has the certificate.

        Raises
        ------
        Refusal
            Before any row is read; nothing was charged.
        Fault
            After the charge; the charge stays.
        """
        from reticent.study.selection import cost_of, joined_spec, selected, statement_of

        found = statement_of(statement, self.schema, self._place)
        epsilon, rho, delta = cost_of(found, epsilon, rho, delta)
        of = replace(self, spec=joined_spec(self.spec, found))
        return selected(
            found,
            of.release(
                found.asks,
                epsilon=epsilon,
                rho=rho,
                delta=delta,
                purpose=purpose,
                record=record,
            ),
        )

    @current_options("study.synthesize")
    def synthesize(
        self,
        columns: str | Sequence[str] | DensityOf | Ask,
        *,
        rows: int | None = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        purpose: str = "",
        record: Record | None = None,
    ) -> Synthetic:
        """Made-up rows with the law of the real ones: a release of one density, and rows drawn from it.

        Parameters
        ----------
        columns : str, sequence of str, or a question ``rt.density(...)``
            One to four numeric columns with bounds. A tenth of epsilon then buys noisy tables of the records, which
            ``good_for`` compares the rows with, where public facts say that they tell something. A question has its own
            method, atoms and checks.
        rows : int, optional
            How many; by default the released number of records, at most those that a public number of people can
            have. Drawing rows is free. More are said to look surer than they are.
        epsilon, rho : number, optional
            Total of the release, or the total in zCDP; not both.
        delta : number, optional
            Only where something needs it.
        purpose : str
            Of the release, for the ledger and the certificate.
        record : Record, optional
            Name, person who asks, signing key, override and audit, as in ``release``. The same ``request_id`` gives
            rows of the stored density again, with no second charge.

        Returns
        -------
        Synthetic
            Made-up rows by column, with the release they come from.

        Raises
        ------
        QuestionError, NoReplyError
            A question that is no density, before the charge; after it, a release without a reply to draw from.
        """
        from reticent.study.synthetic import asked_density, call_of, named_as

        with refusing():
            asked = asked_density(columns, rows, delta)
        with named_as(asked, call_of(columns)):
            made = self.release(
                [asked],
                epsilon=epsilon,
                rho=rho,
                delta=delta,
                purpose=purpose,
                record=record,
            )
        return made.synthetic(rows=rows)

    # --- sessions: questions that depend on answers -----------------------------------------------------------------

    holdout = current_options("study.holdout")(sessions.holdout)
    sparse_vector = current_options("study.sparse_vector")(sessions.sparse_vector)
    leaderboard = current_options("study.leaderboard")(sessions.leaderboard)
    noisy_answers = current_options("study.noisy_answers")(sessions.noisy_answers)
    session_prices = sessions.session_prices

    session_plan = sessions.session_plan
    model_plan = sessions.model_plan
    synthesis_plan = sessions.synthesis_plan

    @refusing()
    def xy(self, columns: Sequence[str], y: str | None = None) -> tuple[Handle, Handle | None]:
        """Handles on columns for the models of ``reticent.learning``, as ``handles.xy`` says. Nothing is read."""
        from reticent.study.handles import Columns, named, xy

        self.schema.person.with_one_cap()  # refused here, before a model is fitted to the handles
        shelf = Columns(self.schema, self.ledger, self._place, self._table, self._known, fits=self._refuse_records)
        found = xy(shelf, columns, y)
        self._warn_of_notation({column for one in found if one is not None for column in named(one)})
        return found

    def named(self, name: str | None = None) -> ReleaseSpec:
        """A release of the study file, by name; the only one where no name is given."""
        return self.spec.release(name)

    def __reduce__(self) -> tuple[object, ...]:
        if self._rows is not None or any(not one.path for one in self.spec.further.values()):
            raise QuestionError("A study over rows in memory cannot be pickled: its rows and its budget stay here.")
        schema = replace(
            self.schema,
            columns=dict(self.schema.columns),
            computed=dict(self.schema.computed),
            texts=dict(self.schema.texts),
            tables=dict(self.schema.tables),
        )
        releases = tuple(replace(item, want=dict(item.want)) for item in self.spec.releases)
        return (
            _again,
            (
                replace(self.spec, schema=schema, releases=releases, further=dict(self.spec.further)),
                self._groups,
                self.extensions,
                self._passing,
            ),
        )


doors(Study, in_python_words)


def _again(
    spec: Spec, groups: Keys | None, extensions: tuple[Extension, ...] = (), passing: Fraction | None = None
) -> Study:
    return Study(spec, None, None, groups, extensions=extensions, _passing=passing)


__all__ = ["Study"]
