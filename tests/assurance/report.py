"""The report of the source tree: that of the wheel, and exact laws, sessions, models and workflows beside it.

found = verified(PARTS)      one to two minutes of one processor; the same each time
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Final, Literal, TypeAlias

from reticent.conformance import kit, report
from reticent.conformance.alarm import Alarm
from reticent.conformance.kit import KitReport
from reticent.conformance.plan_audit import QUICK
from reticent.conformance.report import Named, ReportPart, Section, Tell, Verifications, counted, fewer, refuted, until
from tests.assurance import (
    accounting_lines,
    certificate_changes,
    coverage,
    exact,
    models,
    reader_rows,
    release_path,
    system_path,
    workflows,
)
from tests.assurance.claims import Line

Part: TypeAlias = Literal["exact", "learned", "kit", "plans"]

PARTS: Final[tuple[Part, ...]] = ("exact", "learned", "kit", "plans")
EXACT_HEADS: Final = ("verdict", "of", "claim", "attained", "tables", "pairs", "unseen", "how")
LEARNED_HEADS: Final = ("verdict", "session or model", "pairs", "noise calls", "observed / declared")
PATHS: Final[tuple[tuple[str, Callable[[], KitReport]], ...]] = (
    ("the path of a release, on the system's coins", lambda: system_path.check()),
    ("a release, from charge to answer", lambda: release_path.check()),
    ("readers, row by row", lambda: reader_rows.check()),
    ("changed certificates", lambda: certificate_changes.check()),
    ("losses of built-in plans, listed again", lambda: accounting_lines.check()),
)


def verified(
    parts: Sequence[Part] = PARTS,
    *,
    deep: bool = False,
    triples: int = QUICK,
    tell: Tell | None = None,
    alarm: Alarm | None = None,
) -> Verifications:
    """Run the parts named; those of the wheel are run by ``reticent.conformance.report``."""
    told, rings = tell or (lambda stage: None), alarm or Alarm(lambda words: None)
    lines = until(rings, _exact(told, deep=deep), not_holding) if "exact" in parts else None
    learned = until(rings, _learned(told, triples), refuted) if "learned" in parts else None
    wheel = [part for part in report.PARTS if part in parts and not rings.over]
    found = report.verified(wheel, deep=deep, triples=triples, tell=tell, alarm=rings)
    if found.kit is not None and not rings.over:
        found = replace(found, kit=(*found.kit, *_paths(told, rings)))
    further = [] if learned is None else [of_learned(learned)]
    if lines is not None:
        further.append(of_exact(lines))
    if lines is not None or found.kit is not None:
        cases = None if found.kit is None else list(dict.fromkeys(line.case for one in found.kit for line in one.lines))
        further = with_roster(further, coverage.rows(lines, cases))
    return replace(found, further=tuple(further))


def with_roster(further: list[ReportPart], rows: Sequence[Sequence[str]]) -> list[ReportPart]:
    """The table of mechanisms in the last further part, if there is one."""
    table = ("Mechanism by mechanism, how each was checked", coverage.HEADS, rows)
    return [*further[:-1], *(replace(last, tables=(table, *last.tables)) for last in further[-1:])]


def not_holding(line: Line) -> str:
    """A claim that does not hold, in words; empty for any other."""
    return str(line) if line.verdict != "holds" else ""


def of_exact(found: Sequence[Line]) -> ReportPart:
    """Exact laws, as a part of the report."""
    table = ("Exact laws, claim by claim", EXACT_HEADS, exact_rows(found))
    return ReportPart("exact", _of_exact(tuple(found)), (table,), [_line(line) for line in found])


def of_learned(found: Sequence[Named]) -> ReportPart:
    """Sessions, models and workflows, as a part of the report."""
    pairs = {name: audited.triples for name, audited in found}
    tables = (
        ("Session by session and estimator by estimator", coverage.LEARNED_HEADS, coverage.learned(pairs)),
        ("Sessions and fits, one by one", LEARNED_HEADS, learned_rows(found)),
    )
    lines = [{"name": name, **audited.to_json()} for name, audited in found]
    return ReportPart("sessions_and_models", _of_learned(tuple(found)), tables, lines)


def _exact(tell: Tell, *, deep: bool) -> Iterator[Line]:
    for words, stage in exact.stages(deep=deep):
        tell(f"exact laws: {words}")
        yield from stage


def _paths(tell: Tell, alarm: Alarm) -> Iterator[KitReport]:
    for words, check in PATHS:
        tell(f"conformance kit: {words}")
        yield KitReport(tuple(alarm.watch(check().lines, kit.failed)))


def _learned(tell: Tell, triples: int) -> Iterator[Named]:
    """Every session, every estimator and every workflow, on fewer pairs: there are many of them."""
    yield from models.audits(fewer(triples), tell)
    yield from workflows.audits(fewer(triples), tell)


def _of_learned(found: tuple[Named, ...]) -> Section:
    wrong = [(name, audited) for name, audited in found if audited.verdict != "passed"]
    pairs, calls = sum(audited.triples for _, audited in found), sum(audited.calls for _, audited in found)
    return Section(
        "Sessions and models on made-up neighbours",
        "nothing a session tells or a fit leaves depends on one person but through noise that was charged",
        "each was run on made-up tables that differ in one person, with the same noise; noise calls were "
        "compared with each other, with what was charged, and those of sparse vectors with their rules; so were "
        "answers, attributes, certificates and the ledger",
        f"{counted(len(found), 'session, fit or workflow', 'sessions, fits and workflows')}, "
        f"{pairs:,} pairs of tables, {calls:,} noise calls",
        f"{len(wrong)} of {len(found)} refuted" if wrong else f"all passed on {pairs:,} made-up pairs",
        not wrong,
        tuple(f"{name}: {audited.reason}" for name, audited in wrong),
    )


def _of_exact(found: tuple[Line, ...]) -> Section:
    wrong = [line for line in found if line.verdict != "holds"]
    pairs = sum(line.pairs for line in found)
    unseen = max((line.residual for line in found if line.tables), default=Fraction(0))
    return Section(
        "Exact laws",
        "the probability of every answer changes by no more than the stated loss when one person comes, goes or is "
        "another",
        "draws were enumerated, not sampled, with certified bounds: samplers on coins, mechanisms on their inputs, "
        "statistics from rows to answer on all tiny tables; where there are too many draws, as for the noise of means, "
        "the integers that go in were compared; each claim says how far it was taken",
        f"{len(found)} claims, {pairs:,} pairs of neighbours; of no mechanism or statistic is more than "
        f"{float(unseen):.0e} of the probability left unseen",
        f"{len(wrong)} of {len(found)} claims do not hold" if wrong else f"all {len(found)} claims hold",
        not wrong,
        tuple(str(line) for line in wrong),
    )


def _line(line: Line) -> dict[str, object]:
    return {
        "name": line.name,
        "what": line.what,
        "claim": line.claim,
        "tables": line.tables,
        "pairs": line.pairs,
        "outcomes": line.outcomes,
        "unseen": float(line.residual),
        "bound": float(line.bound),
        "attained": None if line.attained is None else float(line.attained),
        "verdict": line.verdict,
    }


def exact_rows(found: Sequence[Line]) -> list[tuple[str, ...]]:
    """A line for each claim, with the most probability that was left unseen."""
    return [
        (
            line.verdict,
            line.name,
            line.claim,
            "–" if line.attained is None else f"{float(line.attained):.1%}",
            f"{line.tables:,}",
            f"{line.pairs:,}",
            f"{float(line.residual):.0e}",
            line.what,
        )
        for line in found
    ]


def learned_rows(found: Sequence[Named]) -> list[tuple[str, ...]]:
    """A line for each session and each fit."""
    return [
        (
            audited.verdict,
            name,
            f"{audited.triples:,}",
            f"{audited.calls:,}",
            "–" if audited.ratio is None else f"{float(audited.ratio):.3f}",
        )
        for name, audited in found
    ]
