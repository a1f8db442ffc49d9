"""The public page of a release, a model or a session: one HTML file without scripts or anything to load.

Caveats stand above the numbers they are about, since a number that is read first is quoted first: those of the release
above the table, and those of one answer beside its estimand. Then the figure, the privacy label in seven lines, and the
outline of the proof. This module says what stands on the page; the templates
``release`` and ``release_table`` say where, and escape every word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from reticent.certificate.record import NOT_DURABLE, CertificateRecord, audit_words
from reticent.certificate.render.card import card
from reticent.certificate.render.cross import CrossTable, crossed
from reticent.certificate.render.figure import IntervalBar, alternative, bar, svg
from reticent.certificate.render.no_replies import UNREAD, cause, likelier
from reticent.certificate.render.notes import Notes, lines_of, notes
from reticent.certificate.render.tables import column_words, labels_of, row_words, signed
from reticent.certificate.summary import found, methods, parameters, subject
from reticent.certificate.verify import source_of
from reticent.outcome import Reply
from reticent.pages.markup import render, trusted
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.explain import outline, sentence
from reticent.privacy.loss import words
from reticent.statistics.answer import SEPARATOR, Answer, Cell, group_words, head_level, printed
from reticent.statistics.public_facts import listed
from reticent.statistics.shares import DECLARED

NO_REPLY_WORDS: Final = (
    "The method first checks, in a way that protects everyone, whether a safe answer can be given. Here it could not "
    "be sure. That is itself a protected answer, and it was charged. It does not say which value or person is the "
    "cause. A plan for a public number of people says beforehand how probable a reply is. Asking again is a new "
    "release and is charged again. A reply is likelier with"
)

FEW_ACROSS: Final = 6  # columns of a cross table that fit on a page: of more the shorter side is across
MOST_ACROSS: Final = 40  # columns of a cross table on a page
MOST_SHOWN: Final = 10_000  # numbers of one answer on a page: a browser lays out no table of many more


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """One number of an answer as text: value, interval, noise and sampling, or no numbers for no reply."""

    name: str
    numbers: tuple[str, ...]
    bar: IntervalBar | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """The rows of one answer, or its cross table, and its notes; of a ``single`` number the row has its name."""

    name: str
    estimand: str
    single: bool
    rows: tuple[AnswerRow, ...]
    notes: tuple[str, ...] = ()
    cross: CrossTable | None = None  # in place of rows


@dataclass(frozen=True, slots=True)
class LetOut:
    """The numbers of a model, or the transcript of a session, with its public parameters."""

    subject: str
    heads: tuple[str, str]
    rows: tuple[tuple[str, str], ...]
    parameters: str


def page(certificate: CertificateRecord, *, withdrawn: str = "", drawn: Callable[[], str] | None = None) -> str:
    """The release as one self-contained HTML file.

    Parameters
    ----------
    certificate : CertificateRecord
    withdrawn : str
        When and why it no longer stands, if it does not.
    drawn : function, optional
        Gives its figure as SVG, where that is a file beside it and is drawn once for both.

    Returns
    -------
    str
    """
    document, answers = certificate.heading, certificate.answers
    study = document["study"]
    named = "" if (study["title"], study["source"]) == ("study", "in memory") else study["title"]  # nobody named it
    title = document["name"] or named or document["release"]
    parts = (*(one for one in (named, document["release"]) if one != title), document["when"][:10])
    helps = likelier(certificate)
    told = _urgent(notes(certificate), [answer.name for answer in answers])
    level = head_level(answers)
    return render(
        "release",
        {
            "title": title,
            "about": " · ".join(part for part in parts if part),
            "purpose": document["purpose"],
            "withdrawn": [withdrawn] if withdrawn else [],
            "notes": (*told.whole, *_beyond(certificate)),
            "let_out": _let_out(certificate),
            "card": card(certificate),
            "level": f"{100 * level:g} % ",
            "tables": _tables(
                _block(answer, own, labels_of(certificate), level)
                for answer, own in zip(answers, told.each, strict=True)
            ),
            "columns": column_words(certificate),
            "silent": f"{_why(certificate)}{NO_REPLY_WORDS} {listed(helps, 'or')}." if helps else "",
            "figure": trusted(drawn() if drawn else svg(certificate)) if answers else "",
            "figure_words": alternative(certificate),
            "label": _label(certificate),
            "audit": _audit(certificate),
            "proof_lines": outline(certificate.guarantee).split("\n"),
            "digest": certificate.digest,
            "software": _software(document["software"]),
        },
    )


def fragment(certificate: CertificateRecord, *first: str) -> str:
    """The table for a notebook: a bar for every interval, notes above, the ``first`` of them in these words."""
    guarantee, told = certificate.guarantee, notes(certificate)
    level = head_level(certificate.answers)
    return render(
        "release_table",
        {
            "notes": (*filter(None, first), *told.whole, *_beyond(certificate)),
            "each": (
                *lines_of(certificate),
                *((answer.name, more) for answer in certificate.answers for more in _more(answer, "frame() has all")),
            ),
            "level": f"{100 * level:g} % ",
            "rows": [row for answer in certificate.answers for row in _bar_rows(answer, labels_of(certificate), level)],
            "columns": column_words(certificate),
            "promise": sentence(guarantee.loss, guarantee.adjacency),
        },
    )


def _urgent(told: Notes, names: Sequence[str]) -> Notes:
    """The notes with those on cells that could not be read above all, whichever answer they are about."""
    above = [f"{name}: {text}" for name, own in zip(names, told.each, strict=True) for text in own if DECLARED in text]
    each = tuple(tuple(text for text in own if DECLARED not in text) for own in told.each)
    return Notes((*above, *told.whole), each)


def _why(certificate: CertificateRecord) -> str:
    found = cause(certificate)
    return f"{found}. " if found == UNREAD else ""


def notes_of(certificate: CertificateRecord) -> tuple[str, ...]:
    """Every caveat, with the notes on the study and on the ledger: for a table that says no estimand."""
    return (*certificate.caveats, *_beyond(certificate))


def _beyond(certificate: CertificateRecord) -> tuple[str, ...]:
    """The notes on the study and on the ledger."""
    reason = certificate.heading.get("override")
    lifted = [f"The limit on the loss of one release was lifted, with this reason: {reason}"] if reason else []
    return (*lifted, *([] if certificate.durable else [NOT_DURABLE]))


def _let_out(certificate: CertificateRecord) -> LetOut | None:
    """Numbers of a model or transcript of a session, with its parameters; None for the answers of a release."""
    of = subject(certificate)
    if not of:
        return None
    agreed = (parameters(certificate) or {}).items()
    return LetOut(
        of[0].upper() + of[1:],
        ("question", "answer") if certificate.kind == "session" else ("what", "value"),
        tuple(found(certificate)),
        ", ".join(f"{name} {_worded(value)}" for name, value in agreed if value is not None),
    )


def _worded(value: object) -> str:
    """A parameter as text; of the parameters of another estimator those that were given."""
    match value:
        case None:
            return "none"
        case dict():
            return f"({', '.join(f'{name} {_worded(one)}' for name, one in value.items() if one is not None)})"
        case list():
            return f"[{', '.join(map(_worded, value))}]"
        case _:
            return str(value)


def _tables(blocks: Iterable[Block]) -> list[list[Block]]:
    """Answers that share a table: a cross table stands alone."""
    found: list[list[Block]] = []
    for block in blocks:
        if found and block.cross is None and found[-1][0].cross is None:
            found[-1].append(block)
        else:
            found.append([block])
    return found


def _block(answer: Answer, own: tuple[str, ...], called: Mapping[str, str], level: float) -> Block:
    single = len(answer.cells) == 1 and not answer.cells[0].label
    cross = crossed(answer, called) if len(answer.cells) <= MOST_SHOWN else None
    if cross is not None and len(cross.heads) > max(len(cross.rows), FEW_ACROSS):
        cross = cross.turned()
    if cross is not None and len(cross.heads) <= MOST_ACROSS:
        return Block(answer.name, answer.estimand, single, (), own, cross)
    cells = answer.shown[:MOST_SHOWN]
    rows = (AnswerRow(row_words(answer, cell, called), _numbers(answer, cell, level)) for cell in cells)
    more = _more(answer, "the files .csv and .json have all")
    return Block(answer.name, answer.estimand, single, tuple(rows), (*own, *more))


def _more(answer: Answer, where: str) -> tuple[str, ...]:
    """The sentence on numbers that are left out of a table, if any are."""
    left_out = len(answer.shown) - MOST_SHOWN
    return (f"the first {MOST_SHOWN:,} are shown, and {left_out:,} more are not: {where}",) if left_out > 0 else ()


def _numbers(answer: Answer, cell: Cell, level: float) -> tuple[str, ...]:
    text = printed(cell, bare=answer.bare, level=level)
    return () if text is None else tuple(map(signed, (text.value, text.interval, text.noise, text.sampling)))


def _bar_rows(answer: Answer, called: Mapping[str, str], level: float) -> Sequence[AnswerRow]:
    cells = answer.shown[:MOST_SHOWN]
    replies = [cell.outcome.value for cell in cells if isinstance(cell.outcome, Reply)]
    if answer.name.startswith("test("):
        replies = replies[:1]
    span = (min(e.low for e in replies), max(e.high for e in replies)) if replies else None
    names = (
        SEPARATOR.join(part for part in (answer.name, group_words(answer, cell, called)) if part) for cell in cells
    )
    return [
        AnswerRow(name, _numbers(answer, cell, level), _drawn(cell, span))
        for name, cell in zip(names, cells, strict=True)
    ]


def _drawn(cell: Cell, span: tuple[float, float] | None) -> IntervalBar | None:
    """The bar of a cell; of a test only the effect has one, as its parts share no scale."""
    part = [key for name, key in cell.label if name == "test"]
    return None if part and part[0] in ("statistic", "p-value") else bar(cell, span)


def _label(certificate: CertificateRecord) -> tuple[tuple[str, str], ...]:
    """The seven lines of the privacy label."""
    document, tree = certificate.heading, certificate.guarantee
    spent, approved = certificate.spent, certificate.approved
    signature = document["signature"]
    return (
        ("Who is protected", _protected(tree.adjacency)),
        ("Neighbours", f"{tree.adjacency.words()}: {_hidden(tree.adjacency)}"),
        ("Loss of this release", words(tree.loss)),
        (
            "Loss of everything so far",
            f"{words(spent)} of {words(approved)}{_approval(document['study'])}",
        ),
        ("Odds", sentence(tree.loss, tree.adjacency)),
        ("Methods", methods(tree)),
        (
            "Signed by",
            f"Ed25519 key {signature['public_key']}. Check it: reticent verify, with the officer's public key"
            if signature
            else "nobody: this certificate is unsigned",
        ),
    )


def _audit(certificate: CertificateRecord) -> str:
    """Finding of the audit before the release, empty if there was none."""
    stated = certificate.heading["audit"]
    if stated is None:
        return ""
    found = (
        "nothing published differed, and no exact number moved further than its noise was made for"
        if stated["verdict"] == "passed"
        else "an error was found, and these answers should not be used"
    )
    source = f" The source of the program has the SHA-256 {source_of(stated)}." if source_of(stated) else ""
    return (
        f"Before the release its program was run on made-up rows ({audit_words(stated)}): {found}. Such an audit can "
        f"refute a release. It proves nothing; the proof is below.{source}"
    )


def _protected(adjacency: Adjacency) -> str:
    if adjacency.unit == "row":
        return "one row"
    return f"one {adjacency.who}, " + ("with one row" if adjacency.rows == 1 else f"with at most {adjacency.rows} rows")


def _hidden(adjacency: Adjacency) -> str:
    match adjacency.kind:
        case "add_remove":
            return "whether someone is in the file at all is protected"
        case "substitute":
            return "what someone's record says is protected; how many people there are is public"
        case "local":
            return "each answer was protected before it was sent"


def _approval(study: dict[str, str | None]) -> str:
    """``, approved: Ethics board, minute 7, until 2027-12-31``."""
    approved = f", approved: {study['approved']}" if study["approved"] else ""
    return approved + (f", until {study['ends']}" if study["ends"] else "")


def _software(software: dict[str, str]) -> str:
    return "Made with " + ", ".join(f"{name} {version}" for name, version in software.items()) + "."
