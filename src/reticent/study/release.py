"""A release: reserve, read, draw, commit.

The order is the promise. Everything that can be refused is refused before ``run`` is called. The charge is on the disk
before the first row is read. Any later failure is one opaque fault, charged. Nothing of the rows but the integers a
query asked for reaches this module, and nothing but noisy numbers leaves it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn, cast

from reticent.certificate.certificate import Certificate
from reticent.certificate.record import ReleaseMetadata, answer_to_json, columns_to_json, stated
from reticent.data.query import Query, keys_of
from reticent.data.query_result import QueryResult
from reticent.data.schema import Schema
from reticent.data.table import EngineFailure, Table
from reticent.entropy import Entropy, SystemEntropy
from reticent.errors import Fault, PublicParameterError, QuestionError, bare, door
from reticent.ledger import Ledger, Line, Receipt
from reticent.ledger.account import note_fault, protected_log
from reticent.outcome import Reply
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import words
from reticent.statistics.answer import Answer
from reticent.statistics.context import Step
from reticent.statistics.grammar import spelt
from reticent.statistics.prepare import dated, of_years
from reticent.study.allocation import PreparedRelease, View
from reticent.study.comparisons import Comparisons

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from matplotlib.figure import Figure

    from reticent.data.notation import Notation
    from reticent.statistics.comparison import Named
    from reticent.statistics.counts.cap_step import CapStep
    from reticent.statistics.statistic import Ask, Statistic
    from reticent.study.synthetic import Synthetic

VERSION: Final = 1


class Release(Comparisons):
    """The answers of one release, by name, with their guarantee and certificate.

    It reads like a mapping of names to answers without being one: data frame libraries then take it by its columns.

    ``release["mean(mdvis)"]`` is an ``Answer``. Arrow data frames come from ``frame()`` and from any library that reads
    ``__arrow_c_stream__``. ``save`` writes csv, json (the certificate), html and svg.
    ``difference``, ``ratio``, ``total``, ``simultaneous`` and ``discoveries`` compare answers, at no charge.
    ``stored`` is true where an earlier answer is given again, for which nothing is charged.
    """

    __slots__ = ("_answers", "_notation", "_worded", "caveats", "certificate", "stored")

    def __init__(
        self,
        answers: tuple[Answer, ...],
        caveats: tuple[str, ...],
        certificate: Certificate,
        *,
        stored: bool = False,
        notation: Notation | None = None,
        worded: Callable[[str], str] = str,
    ) -> None:
        self._answers = {answer.name: answer for answer in answers}
        self._notation, self._worded = notation, worded
        self.caveats = caveats
        self.certificate = certificate
        self.stored = stored

    if not TYPE_CHECKING:  # a name that other libraries have says what it is called here

        def __getattr__(self, name: str) -> NoReturn:
            from reticent.habits import unknown

            raise unknown("release", name)

    @door
    def __getitem__(self, name: Named) -> Answer:
        """The answer of a name, of a question, or of another spelling; of a group by its keys, or as printed."""
        if isinstance(name, int | slice | list) or (isinstance(name, tuple) and not name):
            raise QuestionError(
                'An answer is found by its name, release["mean(age)"], and a group by its key, '
                'release["mean(age) by ward"]["north"]. By place: release.answers[0]. All cells: '
                'release.frame().to_pandas(), and release.save("table") for files.'
            )
        if found := self._answers.get(spelt(str(getattr(name, "name", name)), self._answers)):
            return found
        from reticent.statistics.comparison import find

        cells = find(self._answers, name)
        return replace(cells[0].answer, cells=tuple(one.cell for one in cells))

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

    def _by_name(self) -> dict[str, Answer]:
        return self._answers

    @property
    def guarantee(self) -> Guarantee:
        """The derived guarantee; ``str()`` of ``proof`` prints the tree."""
        return self.certificate.guarantee

    def _told_by(self) -> tuple[str, str]:
        return self.receipt, self.certificate.digest

    @property
    def receipt(self) -> str:
        """The id of the ledger entry that paid for this release."""
        return str(self.certificate.heading["release"])

    @property
    def given_again(self) -> str:
        """Words of a stored answer: it was charged once, and not again; empty where this is the first time."""
        return f"stored answer of {self.receipt}, given again: nothing was charged this time" if self.stored else ""

    @property
    def replied(self) -> bool:
        """True if every cell of every answer is a reply."""
        return all(isinstance(cell.outcome, Reply) for answer in self.answers for cell in answer)

    def proof(self) -> str:
        """Every part with its loss, theorem and source."""
        return self.certificate.proof()

    def explain(self, prior: float = 0.1) -> str:
        """Meaning of the guarantee for one person, in odds."""
        return self.certificate.explain(prior=prior)

    def frame(self) -> object:
        """A pyarrow Table, one row per cell.

        Its columns are answer, label columns, outcome, value, low, high, noise, sampling, level
        and incomplete. The last is the share of rows without a readable value, and null if none is told.
        """
        from reticent.study.release_files import table

        return table(self.answers)

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
            How many; by default the released number of records, at most those of a public number of people.

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
        return Synthetic(density, self.certificate, rows, given_again=self.given_again, notation=self._notation)

    def _in(self, notation: Notation | None, worded: Callable[[str], str]) -> Release:
        """The same release, which writes made-up rows as the study's file is written, and words as it was declared."""
        return Release(
            self.answers, self.caveats, self.certificate, stored=self.stored, notation=notation, worded=worded
        )

    def plot(self) -> Figure:
        """One panel per answer: dot = answer, thick bar = noise, thin bar = noise and sampling."""
        from reticent.certificate.render.figure import figure

        return figure(self.certificate)

    def save(self, stem: str | Path, *, files: str | Sequence[str] | None = None) -> tuple[Path, ...]:
        """Write ``stem`` .csv, .json (the certificate), .html and .svg; returns the paths.

        ``"table.xlsx"`` names that one file, and ``files`` the endings wanted. ".xlsx" is an Excel workbook, which
        needs ``reticent[files]``, ".pdf" the figure for a paper, and ".cells.csv" has the cells of the one density
        released. Each file is put in place all at once, and a link of that name is replaced, not followed.
        """
        from reticent.study.release_files import named, save

        return save(self.certificate, *named(Path(stem), files))

    def __repr__(self) -> str:
        from reticent.certificate.render.listing import listing

        return "\n".join(filter(None, (self.given_again, listing(self.certificate, self._worded))))

    def _repr_html_(self) -> str:
        from reticent.certificate.render.page import fragment

        return fragment(self.certificate, self.given_again)


def _reopened(
    answers: dict[str, Answer],
    caveats: tuple[str, ...],
    certificate: Certificate,
    stored: bool = False,
    notation: Notation | None = None,
) -> Release:
    """The release of a pickle of 0.1.0, which names this function."""
    return Release(tuple(answers.values()), caveats, certificate, stored=stored, notation=notation)


def charge(prepared: PreparedRelease, ledger: Ledger, about: ReleaseMetadata) -> Receipt:
    """Reserve the whole loss, durably. Every refusal of the ledger comes from here.

    Parameters
    ----------
    prepared : PreparedRelease
        Release whose guarantee is charged.
    ledger : Ledger
        Ledger that pays.
    about : ReleaseMetadata
        Name, person who asks, purpose and request.

    Returns
    -------
    Receipt
        Receipt; by then the charge is on the disk.
    """
    return ledger.reserve(
        prepared.guarantee.loss,
        adjacency=prepared.guarantee.adjacency,
        what=about.name or ", ".join(step.name for step in prepared.steps)[:200],
        who=about.who,
        purpose=about.purpose,
        key=None if about.request is None else about.request[0],
        request_digest=None if about.request is None else about.request[1],
    )


def released_before(ledger: Ledger, line: Line) -> Release:
    """The release of a request that was charged before, as ``stored_answer`` says."""
    from reticent.study.stored_answer import stored

    found = stored(ledger, line)
    return Release(found.answers, tuple(found.heading["caveats"]), found, stored=True)


def run(
    prepared: PreparedRelease,
    table: Table,
    schema: Schema,
    ledger: Ledger,
    about: ReleaseMetadata,
    entropy: SystemEntropy,
    signer: Ed25519PrivateKey | None,
    on_stage: Callable[[str], None],
) -> Release:
    """Charge, read, draw and commit.

    Parameters
    ----------
    prepared : PreparedRelease
    table : Table
        The private rows, unread.
    schema : Schema
    ledger : Ledger
    about : ReleaseMetadata
    entropy : SystemEntropy
    signer : Ed25519PrivateKey or None
        Signs the certificate.
    on_stage : function
        Told the name of each stage.

    Returns
    -------
    Release

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
    if receipt.replayed and about.request is not None:  # another process was first with this request
        line = ledger.asked_before(*about.request, who=about.who)
        assert line is not None
        return released_before(ledger, line)
    try:
        prepared = _as_chosen(prepared, table, entropy)
        answers, caveats = draw(prepared, table, entropy, on_stage)
        on_stage("commit")
        certificate = Certificate.of(certified(prepared, answers, caveats, schema, about, receipt, ledger))
        if signer is not None:
            certificate = certificate.sign(signer)
        release = Release(answers, caveats, certificate)
        whole = [answers[place] for view in prepared.views if view.schema is None for place in view.places]
        kept = None if about.request is None else json.dumps(certificate.document, allow_nan=False)
        ledger.commit(receipt, digest=certificate.digest, shares=prepared.beside.recorded(whole), answer=kept)
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
    prepared: PreparedRelease, table: Table, entropy: Entropy, on_stage: Callable[[str], None]
) -> tuple[tuple[Answer, ...], tuple[str, ...]]:
    """Run every query once, then draw each step's noise; returns answers and the caveats of the whole release.

    A step whose draws ask for more is drawn while the engine has the rows.

    Parameters
    ----------
    prepared : PreparedRelease
        Release, already charged.
    table : Table
        Open rows.
    entropy : Entropy
        Source of the noise.
    on_stage : function
        Called with "read" and with "draw" as each begins.

    Returns
    -------
    tuple of tuple of Answer and tuple of str
        Answers in the order of the steps, and caveats.
    """
    on_stage("read")
    prepared = _as_chosen(prepared, table, entropy)
    key, views = entropy.bits(256).to_bytes(32), prepared.views
    told = [_read(table, prepared, view, key, entropy) for view in views]
    read, early = [found for found, _ in told], {place: one for _, some in told for place, one in some.items()}
    on_stage("draw")
    of_step = {place: results for view, results in zip(views, read, strict=True) for place in view.places}
    drawn = [
        answered(step, early[place] if place in early else _answer(step, of_step[place], entropy))
        for place, step in enumerate(prepared.steps)
    ]
    for place, (asked, calendar) in enumerate(zip(prepared.asked, prepared.calendars, strict=True)):
        drawn[place] = drawn[place] if calendar is None else dated(drawn[place], asked.statistic, calendar)
        drawn[place] = of_years(drawn[place]) if prepared.years[place] else drawn[place]
    noted: list[str] = []
    for view, results in zip(views, read, strict=True):
        answers = [drawn[place] for place in view.places]
        if view.caveat is not None:
            capped = view.caveat.answer([results[query] for query in view.caveat.queries], entropy)
            noted += [text + view.words for text in capped.caveats]
            cap = cast("CapStep", view.caveat)  # the one caveat that is bought
            answers = [cap.beside(answer, capped.outcome) for answer in answers]
        shares = view.beside.draw(results, answers, entropy)
        noted += view.beside.caveats(answers, shares)
        for place, answer in zip(view.places, view.beside.stand(answers, shares), strict=True):
            drawn[place] = answer
    return tuple(drawn), (*noted, *prepared.notes)


def _as_chosen(prepared: PreparedRelease, table: Table, entropy: Entropy) -> PreparedRelease:
    """The release at the cap, the bounds or the keys drawn now; as it is, where none are to be chosen any more."""
    if prepared.choice is None or prepared.chosen is not None:
        return prepared
    if prepared.at_keys is not None:
        from reticent.study.found_keys import draw_keys

        return prepared.at_keys(prepared, draw_keys(prepared, table, entropy))
    from reticent.study.cap_candidates import at_chosen

    return at_chosen(prepared, table, entropy)


def _read(
    table: Table, prepared: PreparedRelease, view: View, key: bytes, entropy: Entropy
) -> tuple[dict[Query, QueryResult], dict[int, Answer]]:
    """The exact integers of one view, each query run once, and the answers of steps whose draws ask for more."""
    steps, early = {place: prepared.steps[place] for place in view.places}, dict[int, Answer]()
    queries = list(dict.fromkeys(query for step in (*steps.values(), *view.besides) for query in step.queries))

    def then(results: Sequence[QueryResult]) -> None:
        found = dict(zip(queries, results, strict=True))
        stay = {query for query, result in found.items() if any(held.scans is not None for held in result.ranks)}
        asking = ((place, step) for place, step in steps.items() if not stay.isdisjoint(step.queries))
        early.update({place: _answer(step, found, entropy) for place, step in asking})

    more = (then,) if isinstance(table, Table) else ()  # an audit has tables of its own, which are read at once
    found = table.run(queries, key, prepared.schema_of(view), *more)
    return dict(zip(queries, found, strict=True)), early


def _answer(step: Step, results: Mapping[Query, QueryResult], entropy: Entropy) -> Answer:
    return step.answer([results[query] for query in step.queries], entropy)


def answered(step: Step, answer: Answer) -> Answer:
    """The answer with its estimand: its own, or the one that its step stated before any row was read."""
    keys = [keys_of(query) for query in step.queries]
    apart = bool(keys) and all(key is not None and key.touch == 1 for key in keys)
    return replace(answer, estimand=answer.estimand or step.estimand, apart=apart)


def certified(
    prepared: PreparedRelease,
    answers: tuple[Answer, ...],
    caveats: tuple[str, ...],
    schema: Schema,
    about: ReleaseMetadata,
    receipt: Receipt,
    ledger: Ledger,
) -> dict[str, object]:
    """The document of a certificate, version 1. Fields may be added, never removed or given a new meaning.

    Parameters
    ----------
    prepared : PreparedRelease
        Release with its guarantee.
    answers : tuple of Answer
        Answers, in order.
    caveats : tuple of str
        Caveats of the whole release.
    schema : Schema
        Schema of the study.
    about : ReleaseMetadata
        Name, person who asks, purpose and circumstances.
    receipt : Receipt
        Receipt of the charge.
    ledger : Ledger
        Ledger that was charged.

    Returns
    -------
    dict of str to object
        Document as JSON values.
    """
    used = prepared.columns_asked(schema)
    columns = columns_to_json(prepared.schema or schema, used)
    found = stated(VERSION, prepared.guarantee, receipt.charge, columns, about, receipt, ledger)
    if prepared.extensions:
        from reticent.statistics.extensions import to_json

        found["extensions"] = to_json(prepared.extensions)
    if prepared.chosen is not None and prepared.choice is not None:
        found |= prepared.choice.to_json(prepared.chosen)
    if prepared.key_files:
        found["key_files"] = [
            {"file": file.name, "columns": list(keys.columns), "keys": len(keys.among), "sha256": file.digest}
            for file, keys in prepared.key_files.items()
        ]
    return {**found, "answers": [answer_to_json(answer) for answer in answers], "caveats": list(caveats)}
