"""The text of a release as ``print`` shows it: a table of its answers, what they estimate, notes, and the guarantee."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from reticent.certificate.record import CertificateRecord
from reticent.certificate.render.cross import crossed
from reticent.certificate.render.no_replies import cause, likelier
from reticent.certificate.render.notes import lines_of, notes
from reticent.certificate.render.tables import column_words, labels_of, row_words
from reticent.data.format import plain
from reticent.privacy.explain import sentence
from reticent.statistics.answer import HALVES, Answer, head_level, printed
from reticent.statistics.public_facts import listed

WIDTH: Final = 80  # characters of a line
NAME: Final = 24  # characters of a name that always stands beside its number
MOST: Final = 40  # numbers of one answer that are printed; the frame and the files have all
HANGING: Final = 11
DECLINED: Final = ", and it stays charged. A reply is likelier with"
PLANNED: Final = (
    "study.plan(…, people=…) tells free how likely, with a guess of the number of people. "
    "Where values are missing, study.passing(…).plan(…, people=…) does."
)
TIED: Final = re.compile(  # blanks at which no line ends
    r"(?<=\d) (?=%)|(?<=[±εδρ]) (?=\d)|(?<=\d,) (?=δ|-?[\d.]+[\])])|(?<=1) (?=in \d)|(?<=1 in) (?=\d)"
)
HEADS: Final = ("answer", "interval", "noise", "sampling")

Line: TypeAlias = tuple[str, tuple[str, ...]]  # a name and its numbers, none for a line of words


def listing(certificate: CertificateRecord, worded: Callable[[str], str] = str) -> str:
    """The release as plain text: a line for each number, the names of groups under that of their answer.

    An answer of more than forty numbers shows as many and says how many it left out. What could be declared otherwise
    is ``worded`` as the study was declared; by default in lines of a study file.
    """
    return "\n".join((*_table(certificate.answers, labels_of(certificate)), *below(certificate, worded=worded)))


def below(certificate: CertificateRecord, also: Sequence[str] = (), *, worded: Callable[[str], str] = str) -> list[str]:
    """The lines below the numbers of a release: what they estimate, notes, of which some may be added, the guarantee.

    Parameters
    ----------
    certificate : CertificateRecord
        Certificate of the release.
    also : sequence of str
        Notes that stand first.
    worded : function
        Of what could be declared otherwise.

    Returns
    -------
    list of str
        Lines of at most 80 characters.
    """
    guarantee = certificate.guarantee
    lines: list[str] = []
    for word, texts in (
        ("estimates", [f"{name}: {text}" for name, text in lines_of(certificate)]),
        ("columns", column_words(certificate)),
        ("note", (*also, *notes(certificate).whole)),
        ("no reply", tuple(map(worded, _declined(certificate)))),
        ("guarantee", (sentence(guarantee.loss, guarantee.adjacency),)),
    ):
        for place, text in enumerate(texts):
            lines += folded(f"{'' if place else word:<{HANGING}}", plain(text))
    return lines


def _declined(certificate: CertificateRecord) -> tuple[str, ...]:
    """The words about no reply, where there is one."""
    helps = likelier(certificate)
    return (f"{cause(certificate)}{DECLINED} {listed(helps, 'or')}. {PLANNED}",) if helps else ()


def _table(answers: Sequence[Answer], called: Mapping[str, str]) -> Iterator[str]:
    level = head_level(answers)
    rows = [row for answer in answers for row in _rows(answer, called, level)]
    numbers = [found for _, found in rows if found]
    if not numbers:  # cross tables alone, which say themselves what they hold
        yield from (text.rstrip() for text, _ in rows)
        return
    heads = (HEADS[0], f"{100 * level:g} % {HEADS[1]}", *HEADS[2:])
    widths = [max(len(row[place]) for row in (heads, *numbers)) for place in range(len(HEADS))]
    most = max(WIDTH - sum(widths) - 2 * len(widths), NAME)
    name = max((len(text) for text, found in rows if found and len(text) <= most), default=0)
    yield f"{HALVES:>{name + sum(widths) + 2 * len(widths)}}"
    for text, found in (("", heads), *(part for row in rows for part in _beside(row, most))):
        parts = (f"{part:>{width}}" for part, width in zip(found, widths, strict=False))
        yield "  ".join([f"{text:<{name}}", *parts]).rstrip()


def _beside(row: Line, most: int) -> Iterator[Line]:
    """A name beside its numbers; one of more than ``most`` characters has a line of its own."""
    text, found = row
    if found and len(text) > most:
        yield _cut(text, WIDTH), ()
        yield "", found
    else:
        yield row


def _rows(answer: Answer, called: Mapping[str, str], level: float) -> Iterator[Line]:
    single = len(answer.cells) == 1 and not answer.cells[0].label
    if not single:
        yield _cut(plain(answer.name), WIDTH), ()
    if crossing := _cross_lines(answer, called):
        yield from ((line, ()) for line in crossing)
        return
    for cell in answer.shown[:MOST]:
        text = printed(cell, bare=answer.bare, level=level)
        name = plain(answer.name if single else f"  {row_words(answer, cell, called)}")
        found = ("no reply", "", "", "") if text is None else (text.value, text.interval, text.noise, text.sampling)
        yield name, found
    if len(answer.cells) > MOST:
        yield f"  … {len(answer.cells) - MOST:,} more: frame() has all", ()


def _cross_lines(answer: Answer, called: Mapping[str, str]) -> list[str]:
    """The lines of a cross table of two groups, turned where that is shorter; none where it is too long."""
    table = crossed(answer, called, most=MOST)
    if table is None:
        return []
    ways = [(one, one.lines(WIDTH - 2)) for one in (table, table.turned())]
    whole = [lines for one, lines in ways if len(lines) == len(one.rows) + 2]  # every column beside the others
    made = whole[0] if whole else min((lines for _, lines in ways), key=len)
    return [f"  {line}".rstrip() for line in made] if len(made) <= 2 * MOST else []


def folded(mark: str, text: str) -> list[str]:
    """Lines of at most ``WIDTH`` characters, which hang behind a mark; without one, those that follow go further in."""
    lines = textwrap.wrap(
        TIED.sub("\N{NO-BREAK SPACE}", text),
        WIDTH,
        initial_indent=mark,
        subsequent_indent=" " * (len(mark) or 2),
        break_on_hyphens=False,
        break_long_words=False,
    )
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"
