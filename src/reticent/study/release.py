"""A release: reserve, read, draw, commit.

The order is the promise. Everything that can be refused is refused before ``run`` is called. The charge is on the disk
before the first row is read. Any later failure is one opaque fault, charged. Nothing of the rows but the integers a
query asked for reaches this module, and nothing but noisy numbers leaves it.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, assert_never

from reticent.certificate.answers import answer_to_json, cell_to_json
from reticent.certificate.certificate import Certificate
from reticent.certificate.fields import ReleaseMetadata, column_to_json, stated
from reticent.data.format import plain
from reticent.data.query import (
    Capped,
    Incomplete,
    Moments,
    Ordered,
    Persons,
    Present,
    Query,
    Ranks,
    Records,
    Rows,
    Tally,
    Total,
)
from reticent.data.schema import Schema
from reticent.data.table import EngineFailure, Result, Table
from reticent.entropy import Entropy, SystemEntropy
from reticent.errors import Fault, PublicParameterError, QuestionError, Refusal, bare
from reticent.ledger import Ledger, Receipt
from reticent.ledger.faults import note_fault, protected_log
from reticent.ledger.fingerprint import note_head
from reticent.outcome import NoReply, Reply
from reticent.privacy.explain import outline, sentence
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import words
from reticent.statistics.answer import NO_INTERVAL, Answer, Cell, estimates, said
from reticent.statistics.context import Step
from reticent.study.allocation import Prepared

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from matplotlib.figure import Figure

    from reticent.statistics.statistic import Ask, Statistic
    from reticent.study.synthetic import Synthetic

VERSION: Final = 1
FILES: Final = (".csv", ".json", ".html", ".svg")
WORKBOOK: Final = ".xlsx"
CELLS: Final = ".cells.csv"


class Release:
    """The answers of one release, by name, with their guarantee and certificate.

    It reads like a mapping of names to answers without being one: data frame libraries then take it by its columns.

    ``release["mean(mdvis)"]`` is an ``Answer``. Arrow data frames come from ``frame()`` and from any library that reads
    ``__arrow_c_stream__``. ``save`` writes csv, json (the certificate), html and svg.
    """

    __slots__ = ("_answers", "caveats", "certificate")

    def __init__(self, answers: tuple[Answer, ...], caveats: tuple[str, ...], certificate: Certificate) -> None:
        self._answers = {answer.name: answer for answer in answers}
        self.caveats = caveats
        self.certificate = certificate

    def __getitem__(self, name: str | Statistic | Ask) -> Answer:
        """The answer of a name, of a question, or of another spelling of its text."""
        found = name if isinstance(name, str) else name.name
        if found not in self._answers and isinstance(name, str):
            found = _spelt(name)
        if found not in self._answers:
            raise QuestionError(f"This release has no answer '{name}'. It has: {', '.join(self._answers)}.")
        return self._answers[found]

    def __iter__(self) -> Iterator[str]:
        return iter(self._answers)

    def __len__(self) -> int:
        return len(self._answers)

    def __contains__(self, name: object) -> bool:
        return name in self._answers

    def keys(self) -> tuple[str, ...]:
        """The names, in the order asked."""
        return tuple(self._answers)

    @property
    def answers(self) -> tuple[Answer, ...]:
        return tuple(self._answers.values())

    @property
    def guarantee(self) -> Guarantee:
        """The derived guarantee; ``str()`` of ``proof`` prints the tree."""
        return self.certificate.guarantee

    @property
    def receipt(self) -> str:
        """The id of the ledger entry that paid for this release."""
        return str(self.certificate.document["release"])

    @property
    def replied(self) -> bool:
        """True if every cell of every answer is a reply."""
        return all(isinstance(cell.outcome, Reply) for answer in self.answers for cell in answer)

    def proof(self) -> str:
        """Every part with its loss, theorem and source."""
        return outline(self.guarantee)

    def explain(self, prior: float = 0.1) -> str:
        """Meaning of the guarantee for one person, in odds."""
        return self.certificate.explain(prior=prior)

    def frame(self) -> object:
        """A pyarrow Table, one row per cell.

        Its columns are answer, label columns, outcome, value, low, high, noise, sampling, level
        and incomplete. The last is the share of rows without a readable value, and null if none is told.
        """
        import pyarrow as pa

        rows = [_row(answer, cell) for answer in self.answers for cell in answer]
        names = list(dict.fromkeys(name for row in rows for name in row))
        columns = {name: [row.get(name) for row in rows] for name in names}
        return pa.table({name: _one_type(column) for name, column in columns.items()})

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        table = self.frame()
        return table.__arrow_c_stream__(requested_schema)  # type: ignore[attr-defined]  # a pyarrow Table has it

    def synthetic(self, name: str | Statistic | Ask | None = None, *, rows: int | None = None) -> Synthetic:
        """Made-up rows from a released density, free, as often as one likes.

        Parameters
        ----------
        name : str, optional
            The answer whose density it is; by default the only one.
        rows : int, optional
            How many; by default the released number of records.

        Returns
        -------
        Synthetic

        Raises
        ------
        QuestionError
            No density of that name, or several densities and no name.
        NoReplyError
            The density is no reply.
        """
        from reticent.study.synthetic import Synthetic
        from reticent.synthesis.density import Density

        asked = [key for key in self if key.startswith("density(")]
        named: list[str | Statistic | Ask] = [*asked] if name is None else [name]
        if len(named) != 1:
            raise QuestionError(f"Name the density that the rows are drawn from; this release has {len(named)}.")
        density = self[named[0]].density
        assert isinstance(density, Density)  # an answer knows it by its protocol
        return Synthetic(density, self.certificate, rows)

    def plot(self) -> Figure:
        """One panel per answer: dot = answer, thick bar = noise, thin bar = noise and sampling."""
        from reticent.certificate.render.figure import figure

        return figure(self.certificate)

    def save(self, stem: str | Path, *, files: Sequence[str] = FILES) -> tuple[Path, ...]:
        """Write ``stem`` .csv, .json (the certificate), .html and .svg; returns the paths.

        ``files`` names the suffixes wanted; ".xlsx" is an Excel workbook, which needs ``reticent[files]``, and
        ".cells.csv" has the cells of the one density released. Each file is put in place all at once, and a link of
        that name is replaced, not followed.
        """
        return save(self.certificate, Path(stem), files)

    def __repr__(self) -> str:
        shown = [
            (plain(_title(answer, cell)), _words_of(cell, bare=answer.bare))
            for answer in self.answers
            for cell in answer.shown
        ]
        widest = max((len(title) for title, _ in shown), default=0)
        lines = [f"{title:<{widest}}  {words_of}" for title, words_of in shown]
        promise = sentence(self.guarantee.loss, self.guarantee.adjacency)
        for word, texts in (
            ("estimates", estimates(self.answers)),
            ("note", self.certificate.caveats),
            ("guarantee", (promise,)),
        ):
            lines += [f"{'' if place else word:<9}  {plain(text)}" for place, text in enumerate(texts)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from reticent.certificate.render.page import fragment

        return fragment(self.certificate)

    def __reduce__(self) -> tuple[object, ...]:
        return (_reopened, (self._answers, self.caveats, self.certificate))


def _spelt(text: str) -> str:
    """The name of the question that a text asks; the text itself where it cannot be read."""
    from reticent.statistics.grammar import parse

    try:
        return parse(text).name
    except Refusal:
        return text


def _reopened(answers: dict[str, Answer], caveats: tuple[str, ...], certificate: Certificate) -> Release:
    return Release(tuple(answers.values()), caveats, certificate)


def save(certificate: Certificate, stem: Path, suffixes: Sequence[str] = FILES) -> tuple[Path, ...]:
    """Write the files of a release beside each other: answers, certificate, page and figure."""
    from reticent.certificate.render.cells import cells
    from reticent.certificate.render.figure import svg
    from reticent.certificate.render.page import page
    from reticent.certificate.render.tables import sheet
    from reticent.certificate.render.workbook import workbook

    contents: dict[str, Callable[[], bytes]] = {
        ".csv": lambda: sheet(certificate).encode(),
        ".json": lambda: certificate.to_json().encode(),
        ".html": lambda: page(certificate).encode(),
        ".svg": lambda: svg(certificate).encode(),
        WORKBOOK: lambda: workbook(certificate),
        CELLS: lambda: cells(certificate).encode(),
    }
    unknown = [suffix for suffix in suffixes if suffix not in contents]
    if unknown:
        raise PublicParameterError(f"a release is saved as {', '.join(contents)}; got {', '.join(unknown)}")
    made = {suffix: contents[suffix]() for suffix in suffixes}
    stem.parent.mkdir(parents=True, exist_ok=True)
    paths = []
    for suffix, content in made.items():
        path = stem.with_name(stem.name + suffix)
        _put(path, content)
        paths.append(path)
    return tuple(paths)


def _put(path: Path, content: bytes) -> None:
    """Put a file in place all at once: a reader sees the old one or the new one, and no link is followed."""
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with draft.open("xb") as opened:
            opened.write(content)
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def charge(prepared: Prepared, ledger: Ledger, about: ReleaseMetadata) -> Receipt:
    """Reserve the whole loss, durably. Every refusal of the ledger comes from here."""
    return ledger.reserve(
        prepared.guarantee.loss,
        adjacency=prepared.guarantee.adjacency,
        what=about.name or ", ".join(step.name for step in prepared.steps)[:200],
        who=about.who,
        purpose=about.purpose,
    )


def run(
    prepared: Prepared,
    table: Table,
    schema: Schema,
    ledger: Ledger,
    about: ReleaseMetadata,
    entropy: SystemEntropy,
    signer: Ed25519PrivateKey | None,
    on_stage: Callable[[str], None],
    source: Path | None,
) -> Release:
    """Charge, read, draw and commit. ``source`` is the file whose claim follows the ledger, if there is one.

    Raises
    ------
    BudgetError, LedgerError
        Before any row is read.
    PublicParameterError
        For any other entropy than the operating system's, before anything is charged.
    Fault
        After the charge, whatever went wrong; its text is constant but for the reference.
    """
    if type(entropy) is not SystemEntropy:
        raise PublicParameterError("a release draws its noise from the operating system and from nothing else")
    on_stage("reserve")
    receipt = charge(prepared, ledger, about)
    if source is not None:
        note_head(source, ledger)  # an older copy of the ledger, put back after an interruption, is then noticed
    try:
        answers, caveats = draw(prepared, table, entropy, on_stage)
        on_stage("commit")
        document = certified(prepared, answers, caveats, schema, about, receipt, ledger)
        certificate = Certificate.of(document)
        if signer is not None:
            certificate = certificate.sign(signer)
        release = Release(answers, caveats, certificate)
        ledger.commit(receipt, digest=certificate.digest, shares=prepared.beside.recorded(answers))
        return release
    except BaseException as cause:
        reference = f"f-{receipt.id.removeprefix('r-')}"
        note_fault(ledger, receipt, reference)
        if not isinstance(cause, Exception):
            raise bare(cause) from None
        if not isinstance(cause, EngineFailure):  # the engine's own words are there already
            protected_log(reference, type(cause).__name__)
    # Raised here and not in the handler: the cause, whose frames hold exact aggregates, is not even its __context__.
    raise Fault(reference, words(prepared.guarantee.loss))


def draw(
    prepared: Prepared, table: Table, entropy: Entropy, on_stage: Callable[[str], None]
) -> tuple[tuple[Answer, ...], tuple[str, ...]]:
    """Run every query once, then draw each step's noise; returns answers and the caveats of the whole release."""
    on_stage("read")
    queries: list[Query] = list(dict.fromkeys(query for step in prepared.all_steps for query in step.queries))
    found: dict[Query, Result] = dict(zip(queries, table.run(queries, entropy.bits(256).to_bytes(32)), strict=True))
    on_stage("draw")
    answers = [
        answered(step, step.answer([found[query] for query in step.queries], entropy)) for step in prepared.steps
    ]
    caveats: tuple[str, ...] = ()
    if prepared.caveat is not None:
        caveats = prepared.caveat.answer([found[query] for query in prepared.caveat.queries], entropy).caveats
    shares = prepared.beside.draw(found, answers, entropy)
    noted = (*caveats, *prepared.beside.caveats(answers, shares), *prepared.notes)
    return prepared.beside.stand(answers, shares), noted


def answered(step: Step, answer: Answer) -> Answer:
    """The answer with its estimand: its own, or the one that its step stated before any row was read."""
    return answer if answer.estimand else replace(answer, estimand=step.estimand)


def certified(
    prepared: Prepared,
    answers: tuple[Answer, ...],
    caveats: tuple[str, ...],
    schema: Schema,
    about: ReleaseMetadata,
    receipt: Receipt,
    ledger: Ledger,
) -> dict[str, object]:
    """The document of a certificate, version 1. Fields may be added, never removed or given a new meaning."""
    used = set().union(*(_columns(query) for step in prepared.all_steps for query in step.queries))
    columns = {name: column_to_json(column) for name, column in schema.columns.items() if name in used}
    found = stated(VERSION, prepared.guarantee, receipt.charge, columns, about, receipt, ledger)
    if prepared.extensions:
        from reticent.statistics.extensions import to_json

        found["extensions"] = to_json(prepared.extensions)
    return {**found, "answers": [answer_to_json(answer) for answer in answers], "caveats": list(caveats)}


def _columns(query: Query) -> set[str]:
    """The declared columns a query reads."""
    match query:
        case Capped():
            return set()
        case Rows(keys=keys) | Persons(keys=keys):
            found = set()
        case Records(columns=columns) | Incomplete(columns=columns):
            return set(columns)
        case Present() | Total() | Moments() | Tally() | Ranks() | Ordered():
            keys, found = query.keys, {query.column}
        case _:
            assert_never(query)
    return found if keys is None else found | {keys.column}


def _row(answer: Answer, cell: Cell) -> dict[str, object]:
    shown = cell_to_json(cell)
    del shown["label"]
    if answer.bare or any(column == NO_INTERVAL for column, _ in cell.label):
        shown |= dict.fromkeys(("low", "high", "noise", "sampling", "level"))
    share = None if answer.incomplete is None else answer.incomplete.outcome
    incomplete = share.value.value if isinstance(share, Reply) else None
    return {"answer": answer.name, **dict(cell.label), **shown, "incomplete": incomplete}


def _one_type(column: list[object]) -> list[object]:
    """Labels of one column name can be numbers in one answer and text in another: then all become text."""
    if len({type(value) for value in column if value is not None}) <= 1:
        return column
    return [None if value is None else str(value) for value in column]


def _title(answer: Answer, cell: Cell) -> str:
    where = ", ".join(str(key) for _, key in cell.label)
    return f"{answer.name} · {where}" if where else answer.name


def _words_of(cell: Cell, *, bare: bool) -> str:
    match cell.outcome:
        case NoReply():
            return "no reply"
        case Reply(estimate):
            return said(cell, estimate, bare=bare)
