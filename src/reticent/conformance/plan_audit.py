"""The audit of one plan before its release: the compiled plan of this study, run on made-up neighbours.

It needs the public schema and the prepared steps and nothing else: no row of the study is read, its ledger is not
opened. One made-up release is charged to a scratch ledger and certified (``scratch_ledger``); all else repeats, so the
same plan gives the same audit. It can refute a plan and cannot prove one; the proof is the guarantee.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import cycle
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from reticent.conformance.neighbours import Family, Pair, families
from reticent.conformance.reader_replay import FORMS, Form, engine
from reticent.conformance.replay import Finding, Replayer, RunComparison, Tape
from reticent.conformance.source_digest import digest
from reticent.data.schema import Schema, flat
from reticent.errors import PublicParameterError, QuestionError

if TYPE_CHECKING:
    from reticent.study.allocation import PreparedRelease

Verdict: TypeAlias = Literal["passed", "refuted"]

TRIPLES: Final = 200
QUICK: Final = 50  # before a release: about a second
CELLS: Final = 20_000  # published in all; a plan of many cells is run on fewer pairs, extremes first
ENOUGH: Final = 20  # findings after which an audit stops: it has refuted the plan
SHOWN: Final = 5
FILES: Final = 16  # every so many pairs what is made of the certificate is written, too
STREAM: Final = "plan audit"


@dataclass(frozen=True, slots=True)
class AnswerAudit:
    """Audit of one answer: its noise calls, and the greatest observed to declared change of any of them.

    ``ratio`` is 1 where some made-up pair moved the exact numbers as far as declared; above 1 the plan is refuted. It
    is None for an answer that needs no noise, or whose mechanism declares no sensitivity.
    """

    answer: str
    calls: int
    ratio: Fraction | None

    def to_json(self) -> dict[str, object]:
        return {"name": self.answer, "calls": self.calls, "ratio": None if self.ratio is None else float(self.ratio)}


@dataclass(frozen=True, slots=True)
class PlanAudit:
    """The outcome of an audit.

    Attributes
    ----------
    triples : int
        Pairs of neighbours the plan was run on, with one tape of noise each.
    calls : int
        Noise calls compared.
    answers : tuple of AnswerAudit
        In the order asked, with the cap's caveat last if there is one.
    loss : Fraction or None
        The greatest share of the charged loss that a pair's exact numbers account for, where it can be computed.
    findings : tuple of Finding
        Empty where nothing was found.
    """

    triples: int
    calls: int
    answers: tuple[AnswerAudit, ...]
    loss: Fraction | None
    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> Verdict:
        return "refuted" if self.findings else "passed"

    @property
    def ratio(self) -> Fraction | None:
        """The greatest ratio of all answers."""
        return max((moved.ratio for moved in self.answers if moved.ratio is not None), default=None)

    def verdict_of(self, answer: str) -> Verdict:
        """The verdict of one answer; a finding about the whole plan is about no single one."""
        return "refuted" if any(found.answer == answer for found in self.findings) else "passed"

    @property
    def reason(self) -> str:
        """The first finding, and how many more there are; empty where nothing was found."""
        if not self.findings:
            return ""
        first, more = self.findings[0], len(self.findings) - 1
        at = f"{first.answer}: " if first.answer else ""
        return f"{at}{first.words}" + (f" (and {more} more)" if more else "")

    @property
    def words(self) -> str:
        """One line for people."""
        run = f"plan audit {self.verdict}: {self.triples:,} made-up pairs of neighbours, {self.calls:,} noise calls"
        if self.findings:
            return f"{run}; {self.reason}"
        if self.ratio is None:
            return f"{run}; nothing published depends on the rows"
        return (
            f"{run}; exact numbers moved by at most {float(self.ratio):.3f} of what is declared, and only noise shows"
        )

    def to_json(self) -> dict[str, object]:
        """For a certificate; the findings' words are about made-up rows."""
        return {
            "verdict": self.verdict,
            "triples": self.triples,
            "noise_calls": self.calls,
            "source": digest(),
            "greatest_share_of_loss": None if self.loss is None else float(self.loss),
            "answers": [moved.to_json() for moved in self.answers],
            "findings": [
                {"kind": found.kind, "answer": found.answer, "words": found.words} for found in self.findings[:SHOWN]
            ],
            "findings_in_all": len(self.findings),
            "words": self.words,
        }


@dataclass(slots=True)
class AuditTotals:
    """Running totals of several comparisons of one plan."""

    names: tuple[str, ...]
    triples: int = 0
    calls: int = 0
    cells: int = 0
    each: dict[str, list[Fraction | None]] = field(default_factory=dict)
    loss: Fraction | None = None
    findings: dict[Finding, None] = field(default_factory=dict)

    def add(self, found: RunComparison) -> None:
        self.triples += 1
        self.calls += len(found.calls)
        self.cells += found.size
        for one in found.calls:
            self.each.setdefault(one.answer, []).append(one.ratio)
        if found.share is not None:
            self.loss = found.share if self.loss is None else max(found.share, self.loss)
        self.note(found.findings)

    def note(self, findings: Iterable[Finding]) -> None:
        self.findings.update(dict.fromkeys(findings))

    def audited(self) -> PlanAudit:
        answers = []
        for name in self.names:
            ratios = self.each.get(name, [])
            answers.append(AnswerAudit(name, len(ratios), max((r for r in ratios if r is not None), default=None)))
        return PlanAudit(self.triples, self.calls, tuple(answers), self.loss, tuple(self.findings))


def audit(
    plan: PreparedRelease, schema: Schema, *, triples: int = TRIPLES, seen: Callable[[float], None] | None = None
) -> PlanAudit:
    """Run the plan on made-up neighbours, extremes first, and compare (``replay``).

    One made-up release is charged to a scratch ledger and verified (``scratch_ledger``).

    Parameters
    ----------
    plan : Prepared
        The steps of a release and their guarantee.
    schema : Schema
        The public schema they were prepared for.
    triples : int
        How many pairs of neighbours, each with one tape of noise; >= 1. Fewer where a plan has hundreds of cells, so
        that an audit stays a matter of seconds; ``PlanAudit.triples`` says how many it was.
    seen : function, optional
        Told the share of the audit that is done, after each pair.

    Returns
    -------
    Audited
        The same each time for the same plan and schema.

    Raises
    ------
    PublicParameterError
        For a number of triples below 1.
    """
    if isinstance(triples, bool) or not isinstance(triples, int) or triples < 1:
        raise PublicParameterError(f"triples must be an integer >= 1, got {triples}")
    schema = flat(schema)  # made-up rows are joined already; joins have an enumeration of their own (tests/laws)
    tally = AuditTotals(tuple(step.name for step in plan.all_steps))
    replayer = Replayer(plan, schema)
    with engine() as opened:
        for turn, (form, made, places) in enumerate(_batches(schema, triples)):
            held = {place: opened(made, place, form) for pair in places for place in (pair.here, pair.there)}
            if turn == 0:
                tally.note(replayer.made_up_release(held[places[0].here], schema))
            for pair in places:
                files = tally.triples % FILES == 0
                style = replayer.styles[tally.triples % len(replayer.styles)]
                tape = Tape(style, tally.triples, turn, files)
                tally.add(replayer.compare(held[pair.here], held[pair.there], tape, same=pair.same))
                if seen is not None:
                    seen(min(max(tally.triples / triples, tally.cells / CELLS), 1.0))
                if tally.cells >= CELLS:
                    return tally.audited()
            if len(tally.findings) >= ENOUGH:
                break
    return tally.audited()


def before(plan: PreparedRelease, schema: Schema, wanted: int | Literal["quick"]) -> PlanAudit:
    """The audit of what is about to be charged: ``wanted`` triples, or "quick".

    Parameters
    ----------
    plan : PreparedRelease
    schema : Schema
    wanted : int or "quick"
        Number of triples.

    Returns
    -------
    PlanAudit

    Raises
    ------
    QuestionError
        For a finding: the code is wrong somewhere, and nothing should be released by it.
    """
    found = audit(plan, schema, triples=QUICK if wanted == "quick" else wanted)
    if found.verdict != "passed":
        raise QuestionError(
            f"The plan audit found an error in this release, on made-up rows: {found.reason}. Do not work around it: "
            "report it with the study file. Nothing was charged."
        )
    return found


def _batches(schema: Schema, triples: int) -> Iterator[tuple[Form, Family, tuple[Pair, ...]]]:
    """Families until there are enough pairs, each read in the next form: of each some pairs, another order first.

    The pairs are shared out so that even a short audit reads files, and has a family of which every column is text.
    """
    left, share = triples, -(-triples // len(FORMS))
    for form, made in zip(cycle(FORMS), families(schema, STREAM), strict=False):
        pairs = (made.pairs[-1], *made.pairs[:-1])[: min(left, share)]
        yield form, made, pairs
        left -= len(pairs)
        if left <= 0:
            return
