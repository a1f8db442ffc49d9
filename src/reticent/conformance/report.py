"""The report for whoever must decide whether to rely on the program: verifications made, results, and gaps.

    found = verified(("kit", "plans"))                 well under a minute of one processor; the same each time
    print(found)                                       for a privacy officer
    page(found)                                        the same as one HTML file, with every line
    str(found), page(found) and to_json() name the program by the digest of its source (``source_digest``)

It reads no study and no ledger. A report can refute the program; what it cannot show is part of it. The source tree
adds exact laws, sessions and models as ``ReportPart`` parts (``tests/assurance``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, TypeAlias, TypeVar

from reticent.certificate.record import software
from reticent.conformance import kit as conformance
from reticent.conformance.alarm import Alarm
from reticent.conformance.built_in_plans import built_in, made_up, robust
from reticent.conformance.kit import Effort
from reticent.conformance.plan_audit import QUICK, PlanAudit, audit
from reticent.conformance.schemas import Extended
from reticent.conformance.source_digest import digest
from reticent.mechanisms import registry
from reticent.pages.markup import render
from reticent.statistics.extensions import axioms_of

Part: TypeAlias = Literal["kit", "plans"]
Named: TypeAlias = tuple[str, PlanAudit]
Tell: TypeAlias = Callable[[str], None]
T = TypeVar("T")

PARTS: Final[tuple[Part, ...]] = ("kit", "plans")
FEWER: Final = 10  # of so many pairs one, for plans and fits that take longer
BRIEF: Final = Effort(draws=2000, factors=(Fraction(2), Fraction(8)))

# --- the report ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Section:
    """One kind of verification, in words: what was asked of the program, how, on how much, and what came out."""

    title: str
    what: str
    how: str
    extent: str
    result: str
    passed: bool
    findings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AuditRefusal:
    """A question, or a whole release, that was refused as a release would refuse it: it was not run."""

    release: str
    question: str
    words: str

    @property
    def line(self) -> str:
        """Place, question and reason, in one line."""
        where = ": ".join(part for part in (self.release, self.question) if part)
        return f"{where or 'as asked'}: {self.words}"


@dataclass(frozen=True, slots=True)
class ReportPart:
    """A part that only the source tree can run, for the report: its section, its tables, and its lines for JSON."""

    name: str
    section: Section
    tables: tuple[tuple[str, Sequence[str], Sequence[Sequence[str]]], ...]
    lines: Sequence[Mapping[str, object]]


@dataclass(frozen=True, slots=True)
class Verifications:
    """Parts of a verification; a part that was not run is None.

    ``further`` holds the parts of the source tree. ``own`` says that the plans are those of a study, not the built-in
    ones. ``study`` is its title. ``declined`` are its refused questions, which were not run. ``day`` is the day of the
    report. Where no study is named a report has no day: the same version then gives the same report.
    """

    kit: tuple[conformance.KitReport, ...] | None = None
    plans: tuple[Named, ...] | None = None
    own: bool = False
    study: str = ""
    declined: tuple[AuditRefusal, ...] = ()
    day: str = ""
    further: tuple[ReportPart, ...] = ()

    @property
    def sections(self) -> tuple[Section, ...]:
        found = (
            None if self.plans is None else _of_plans(self.plans, own=self.own),
            *(part.section for part in self.further),
            None if self.kit is None else _of_kit(self.kit),
        )
        return tuple(section for section in found if section is not None)

    @property
    def passed(self) -> bool:
        return all(section.passed for section in self.sections)

    @property
    def summary(self) -> str:
        """One sentence."""
        results = "; ".join(f"{section.title.lower()}: {section.result}" for section in self.sections)
        results = results[:1].upper() + results[1:]
        refused = f" {counted(len(self.declined), 'question')} refused and not run." if self.declined else ""
        verdict = "Nothing was refuted" if self.passed else "NOT PASSED: do not release with this program"
        return f"{verdict}. {results}.{refused}" if results else f"Nothing was run.{refused}"

    @property
    def not_verified(self) -> tuple[str, ...]:
        """Limits of this run, the parts left out first."""
        left_out: dict[Part, bool] = {"plans": self.plans is None, "kit": self.kit is None}
        run = {part.name for part in self.further}
        missing = [NOT_RUN[part] for part, out in left_out.items() if out]
        missing += [words for name, words in NOT_HERE.items() if name not in run]
        return (*missing, *([] if self.own else [NOT_YOURS]), *NEVER)

    @property
    def about(self) -> str:
        """The study and the day; empty where no study is named."""
        return " · ".join(part for part in (self.study, self.day) if part)

    def to_json(self) -> dict[str, object]:
        return {
            "passed": self.passed,
            "summary": self.summary,
            "kit": None
            if self.kit is None
            else [
                {"case": line.case, "check": line.check, "verdict": line.verdict, "reason": line.reason}
                for report in self.kit
                for line in report.lines
            ],
            "plans": None
            if self.plans is None
            else [{"release": name, **audited.to_json()} for name, audited in self.plans],
            **{part.name: list(part.lines) for part in self.further},
            "refused": [
                {"release": one.release, "question": one.question, "words": one.words} for one in self.declined
            ],
            "not_verified": list(self.not_verified),
            "study": self.study or None,
            "day": self.day or None,
            "source": digest(),
            "software": software(),
        }

    def __str__(self) -> str:
        lines = [*([self.about] if self.about else []), self.summary]
        for section in self.sections:
            lines += ["", section.title, f"  what    {section.what}", f"  how     {section.how}"]
            lines += [f"  extent  {section.extent}", f"  result  {section.result}"]
            lines += [f"  FOUND   {text}" for text in section.findings]
        lines += [f"  REFUSED {one.line}" for one in self.declined]
        return "\n".join([*lines, "", "Not verified", *(f"  {text}" for text in self.not_verified), "", program()])


NOT_RUN: Final[dict[Part, str]] = {
    "plans": "Plans were not run on made-up neighbours this time: reticent audit STUDY.",
    "kit": "The mechanisms were not put through the conformance kit this time: reticent audit --kit.",
}
NOT_HERE: Final[dict[str, str]] = {
    "exact": "Exact laws were not computed, and no loss was listed again: python -m tests.assurance --exact, in the "
    "source.",
    "sessions_and_models": "Sessions and models were not run on made-up neighbours: python -m tests.assurance "
    "--learned, in the source.",
}
NOT_YOURS: Final = (
    "The plans are made up, and none asks for a density other than a histogram and a series. Your own: reticent audit "
    "STUDY, or release --audit, which puts it in the certificate."
)
NEVER: Final = (
    "The study file. Who one person is, that bounds come from outside the file, that nobody else spends on the same "
    "people: that is the curator's word.",
    "Larger tables and other numbers than those tried, and in zCDP other orders. There the guarantee rests on proofs "
    "on paper, each named in the certificate with its source.",
    "That the operating system's random bits are unknown to everybody. A generator that is fair to every count passes, "
    "whoever knows its seed. So does a program that does otherwise later, or for other numbers than those tried.",
    "That Python, NumPy, the engine and the processor calculate as they should.",
    "Time, memory, logs and whatever else can be seen of a running machine; who can read the raw file.",
    "What is drawn from a density, the scores of a model, the estimates of a survey. Fits to arrays, which are read in "
    "another way than those to columns of a study. Files other than CSV and Parquet. They are tested, but not by this "
    "command.",
    "The ledger on a disk, crashes and tampering. They are tested, but not by this command: docs/assurance.md in the "
    "source.",
    "Intent. A program that was changed on purpose can behave while it is watched.",
)


def program() -> str:
    """Program of the run, in one line: the version and the digest of the installed source."""
    return f"Program: reticent {software().get('reticent', 'not installed')}, source sha256 {digest()}"


def verified(
    parts: Sequence[Part] = PARTS,
    *,
    deep: bool = False,
    triples: int = QUICK,
    plans: Sequence[Named] = (),
    declined: Sequence[AuditRefusal] = (),
    study: str = "",
    day: str = "",
    tell: Tell | None = None,
    alarm: Alarm | None = None,
    extensions: Extended = (),
) -> Verifications:
    """Run the parts named.

    Parameters
    ----------
    parts : sequence of "exact", "kit", "plans"
    deep : bool
        Larger domains and 20,000 draws a side, in minutes.
    triples : int
        Pairs of neighbours for each built-in plan.
    plans : sequence of (name, Audited)
        Audits of the plans of a study, in place of the built-in ones.
    declined : sequence of Declined
        What of the study was refused.
    study, day : str
        Title of the study and day of the report, for the page.
    tell : callable, optional
        Called with a few words as each stage begins.
    alarm : Alarm, optional
        Told of each refutation as it is found. Where one is enough, what was not begun by then is not run.
    extensions : sequence of Extension, optional
        Those of third parties: their mechanisms and their statistics are run, in place of ours.

    Returns
    -------
    Verifications
        One verdict for each claim, with its words.
    """
    told, rings = tell or (lambda stage: None), alarm or Alarm(lambda words: None)
    return Verifications(
        until(rings, _kit(told, Effort() if deep else BRIEF, rings, extensions), quiet) if "kit" in parts else None,
        tuple(plans) or (until(rings, _plans(told, triples, extensions), refuted) if "plans" in parts else None),
        own=bool(plans or study),
        study=study,
        declined=tuple(declined),
        day=day,
    )


def until(alarm: Alarm, found: Iterator[T], wrong: Callable[[T], str]) -> tuple[T, ...] | None:
    """Findings, each refutation told; None if an earlier one was enough and this part was not begun.

    Parameters
    ----------
    alarm : Alarm
    found : iterator
        Findings, computed one by one.
    wrong : function
        Words of a refutation; empty for another finding.

    Returns
    -------
    tuple or None
    """
    return None if alarm.over else tuple(alarm.watch(found, wrong))


def refuted(named: Named) -> str:
    """A plan, session or fit that was refuted, in words; empty for any other."""
    name, audited = named
    return f"{name or 'as asked'}: {audited.reason}" if audited.verdict != "passed" else ""


def quiet(report: conformance.KitReport) -> str:
    """Nothing: the lines of a report were watched one by one."""
    return ""


def _kit(tell: Tell, effort: Effort, alarm: Alarm, extensions: Extended) -> Iterator[conformance.KitReport]:
    theirs = tuple(module for one in extensions for module in one.mechanisms)
    axioms = axioms_of(extensions) if extensions else None
    for module in theirs if extensions else (module for module in registry.ALL if module.SPECIMENS):
        tell(f"conformance kit: {module.__name__.rpartition('.')[2].replace('_', ' ')}")
        yield conformance.check(module, axioms=axioms, effort=effort, alarm=alarm)


def _plans(tell: Tell, triples: int, extensions: Extended) -> Iterator[Named]:
    if extensions:
        for name, prepared, schema in made_up(extensions):
            tell(f"made-up neighbours: {name}")
            yield name, audit(prepared, schema, triples=fewer(triples))
        return
    for name, prepared, schema in built_in():
        tell(f"made-up neighbours: {name}")
        yield name, audit(prepared, schema, triples=triples)
    for name, prepared, schema in robust():
        tell(f"made-up neighbours: {name}")
        yield name, audit(prepared, schema, triples=fewer(triples))


def fewer(triples: int) -> int:
    return -(-triples // FEWER)


# --- in words --------------------------------------------------------------------------------------------------------


def _of_plans(found: tuple[Named, ...], *, own: bool) -> Section:
    wrong = [(name, audited) for name, audited in found if audited.verdict != "passed"]
    pairs, calls = sum(audited.triples for _, audited in found), sum(audited.calls for _, audited in found)
    ratios = [audited.ratio for _, audited in found if audited.ratio is not None]
    most = f"; exact numbers moved by at most {float(max(ratios)):.3f} of what is declared" if ratios else ""
    return Section(
        "Plans on made-up neighbours",
        "nothing published depends on one person but through the noise, and no exact number moves further than its "
        "noise was made for",
        "the program that reads, answers and certifies was run on two made-up tables that differ in one person, with "
        "the same noise. Both were given as arrays and as files. One made-up release of each plan was charged to a "
        "scratch ledger, held against what was drawn, and verified",
        f"{counted(len(found), *(('plan of the study', 'plans of the study') if own else ('built-in plan',)))}, "
        f"{counted(sum(len(audited.answers) for _, audited in found), 'answer')}, {pairs:,} pairs of tables, "
        f"{calls:,} noise calls",
        f"{f'{len(wrong)} of {len(found)} refuted' if wrong else 'all passed'} on {pairs:,} made-up pairs{most}",
        not wrong,
        tuple(f"{name or 'as asked'}: {audited.reason}" for name, audited in wrong),
    )


def _of_kit(found: tuple[conformance.KitReport, ...]) -> Section:
    lines = [line for report in found for line in report.lines]
    failed = [line for line in lines if line.verdict == "fail"]
    idle = sum(line.verdict == "not applicable" for line in lines)
    chance = sum(report.false_alarm for report in found)
    return Section(
        "Conformance of the mechanisms",
        "each mechanism refuses what it must, states its theorem and proof, draws the law it states, and loses no more "
        "than it claims. With too little noise, made on purpose, it is caught",
        "a fixed list of checks, on draws from coins that repeat, so that the report can be printed again",
        f"{len({line.case for line in lines})} mechanisms with their parameters, {len(lines)} checks, {idle} "
        f"of them not applicable; a right mechanism fails one with probability at most {chance:.0e}",
        f"{len(failed)} of {len(lines)} checks failed" if failed else "all conform",
        not failed,
        tuple(f"{line.case}: {line.check}: {line.reason}" for line in failed),
    )


def counted(count: int, one: str, many: str = "") -> str:
    """``1 plan of the study``, ``3 plans of the study``.

    Parameters
    ----------
    count : int
    one, many : str
        Noun of one, and of several; by default with an s.

    Returns
    -------
    str
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


# --- as tables -------------------------------------------------------------------------------------------------------

KIT_HEADS: Final = ("verdict", "mechanism", "checks", "failed", "not applicable")
PLAN_HEADS: Final = ("answer", "noise calls", "observed / declared", "verdict")
CAPPED: Final = "capped"
CAPPED_WORDS: Final = (
    "the share of people who had more rows than are kept. It is asked beside the answers, paid by a twentieth of their "
    "share, and printed as a note of the release"
)
INCOMPLETE: Final = "incomplete"
INCOMPLETE_WORDS: Final = (
    "the share of rows with a cell that is missing, cannot be read or is not listed. It is asked beside the answers, "
    "paid by a twentieth of their share, and printed with them"
)


def kit_rows(found: Sequence[conformance.KitReport]) -> list[tuple[str, ...]]:
    """A line for each mechanism with its parameters."""
    lines = [line for report in found for line in report.lines]
    rows: list[tuple[str, ...]] = []
    for case in dict.fromkeys(line.case for line in lines):
        verdicts = [line.verdict for line in lines if line.case == case]
        failed, idle = verdicts.count("fail"), verdicts.count("not applicable")
        rows.append(("fails" if failed else "conforms", case, str(len(verdicts)), str(failed), str(idle)))
    return rows


def plan_notes(found: Sequence[Named]) -> list[tuple[str, str]]:
    """Words for the rows in the tables of plans that nobody asked for."""
    names = {moved.answer.partition("(")[0] for _, audited in found for moved in audited.answers}
    return [(name, words) for name, words in ((CAPPED, CAPPED_WORDS), (INCOMPLETE, INCOMPLETE_WORDS)) if name in names]


def plan_rows(audited: PlanAudit) -> list[tuple[str, ...]]:
    """A line for each answer."""
    return [
        (
            moved.answer,
            f"{moved.calls:,}",
            "–" if moved.ratio is None else f"{float(moved.ratio):.3f}",
            audited.verdict_of(moved.answer),
        )
        for moved in audited.answers
    ]


# --- as a page -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReportTable:
    """A table of the page, with words for the rows that nobody asked for."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[tuple[str, str]] = ()


def page(found: Verifications) -> str:
    """The report as one self-contained HTML file, without scripts."""
    return render(
        "verification",
        {
            "title": "What was verified",
            "about": found.about,
            "versions": ", ".join(f"{name} {version}" for name, version in software().items()),
            "summary": found.summary,
            "sections": found.sections,
            "not_verified": found.not_verified,
            "tables": [*_tables(found)],
            "program": program(),
        },
    )


def _tables(found: Verifications) -> Iterator[ReportTable]:
    for name, audited in found.plans or ():
        yield ReportTable(f"Plan: {name or 'as asked'}", PLAN_HEADS, plan_rows(audited), plan_notes([(name, audited)]))
    if found.declined:
        rows = [(one.release or "as asked", one.question or "all of it", one.words) for one in found.declined]
        yield ReportTable("Refused, and so not run", ("release", "question", "why"), rows)
    for part in found.further:
        yield from (ReportTable(*table) for table in part.tables)
    if found.kit is not None:
        yield ReportTable("Conformance, mechanism by mechanism", KIT_HEADS, kit_rows(found.kit))
