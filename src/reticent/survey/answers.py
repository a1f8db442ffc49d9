"""Import of answers: the files of the page, codes and a server's records become one table of answers.

Nothing is guessed. An entry that cannot be read, belongs to another design, or came twice is left out and counted. A
token that the design cannot say stays in the table as one, and ``estimate`` reports it. Rows stand in the order of
their receipts, which is chance, so that the table does not tell who came first.
"""

from __future__ import annotations

import base64
import binascii
import csv
import io
import json
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from reticent.errors import SpecError
from reticent.survey import tokens
from reticent.survey.design_record import DesignRecord
from reticent.survey.form import FORMAT, MOST_OPEN, RESERVED, Open, check_open, designs_of, harmless
from reticent.survey.questionnaire_record import QuestionnaireRecord

MARK: Final = "reticent1."
KINDS: Final = (".json", ".jsonl", ".txt")
LARGEST: Final = 1 << 28  # bytes of one file
RECEIPT: Final = 24  # hexadecimal places
NONE: Final = "?"  # stands for a token that the design cannot say


@dataclass(frozen=True, slots=True)
class AnswerTable:
    """A table of answers, and what was left out of it.

    Attributes
    ----------
    header : tuple of str
        ``receipt``; ``design`` and ``answer`` for one question, ``design_1``, ``answer_1``, … for several; the open
        questions.
    rows : tuple of tuples of str
    left_out : mapping of str to int
        Why, and how many.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left_out: Mapping[str, int]

    def csv(self) -> str:
        """The table as CSV text."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerows([self.header, *self.rows])
        return out.getvalue()


def collect(
    design: DesignRecord | QuestionnaireRecord, paths: Iterable[str | Path], *, ask: Open | None = None
) -> AnswerTable:
    """The answers in files and folders as one table.

    Parameters
    ----------
    design : DesignRecord or QuestionnaireRecord
        What the page was made of.
    paths : iterable of paths
        ``*.json`` (one answer, or a list of them), ``*.jsonl`` and ``*.txt`` (an answer or a code on each line), or
        folders of such files.
    ask : mapping of str to sequences of str, optional
        The open questions of the page. An answer to a question that was not asked, or that was not offered, is then
        left blank and counted. Without it every name and word that a cell can hold is taken, up to 50 names: whoever
        sends something chooses them.

    Returns
    -------
    Collected

    Raises
    ------
    SpecError
        For a path that cannot be read, is no such file, or holds none.
    """
    kept: dict[str, tuple[str, ...]] = {}
    left: dict[str, int] = {}
    spoilt: set[str] = set()
    if ask is not None:
        check_open(ask)
    found = [_read(design, text) for path in _files(paths) for text in _texts(path)]
    read = [one for one in found if isinstance(one, _Answer)]
    opened = list(ask) if ask is not None else _named(read)
    odd = sum(any(name not in opened or (ask and one.open[name] not in ask[name]) for name in one.open) for one in read)
    if odd:
        left["hold an open answer that was not offered: that cell is blank, the rest is in the table"] = odd
    for one in found:
        if isinstance(one, str):
            left[one] = left.get(one, 0) + 1
            continue
        told = {name: word for name, word in one.open.items() if ask is None or word in ask.get(name, ())}
        row = (*one.cells, *(told.get(name, "") for name in opened))
        same = kept.setdefault(one.receipt, row) == row
        if kept[one.receipt] is not row:
            why = "came twice, and were counted once" if same else "share a receipt with another, but differ from it"
            left[why] = left.get(why, 0) + 1
            if not same:
                spoilt.add(one.receipt)
    for receipt in spoilt:
        del kept[receipt]
    return AnswerTable((*_header(design), *opened), tuple(kept[receipt] for receipt in sorted(kept)), left)


def decoded(text: str) -> dict[str, Any]:
    """The answer in a code of the page.

    Raises
    ------
    SpecError
        For a code that lost or changed a letter.
    """
    letters, _, check = text.strip().removeprefix(MARK).rpartition(".")
    try:
        made = base64.b64decode(letters + "=" * (-len(letters) % 4), altchars=b"-_", validate=True)
        answer = json.loads(made)
    except (binascii.Error, ValueError, RecursionError):
        raise SpecError("This is no code of a survey page.") from None
    if check != f"{zlib.crc32(made):08x}" or not text.strip().startswith(MARK) or not isinstance(answer, dict):
        raise SpecError("This is no code of a survey page, or a letter of it was lost.")
    return answer


@dataclass(frozen=True, slots=True)
class _Answer:
    receipt: str
    cells: tuple[str, ...]
    open: Mapping[str, str]


def _header(design: DesignRecord | QuestionnaireRecord) -> tuple[str, ...]:
    count = len(designs_of(design))
    if count == 1:
        return ("receipt", "design", "answer")
    return ("receipt", *(f"{name}_{place}" for place in range(1, count + 1) for name in ("design", "answer")))


def _files(paths: Iterable[str | Path]) -> Iterator[Path]:
    for path in map(Path, paths):
        if path.is_dir():
            inside = sorted(one for one in path.iterdir() if one.suffix.lower() in KINDS and one.is_file())
            if not inside:
                raise SpecError(f"{path.name} holds no .json, .jsonl or .txt file.")
            yield from inside
        elif path.suffix.lower() in KINDS:
            yield path
        else:
            raise SpecError(f"{path.name} is no .json, .jsonl or .txt file, and no folder of them.")


def _texts(path: Path) -> Iterator[Any]:
    """The answers of a file, each parsed if it can be; a text that cannot stays a text."""
    try:
        if path.stat().st_size > LARGEST:
            raise SpecError(f"{path.name} is too long: split it.")
        text = path.read_text("utf-8-sig", errors="replace")
    except OSError:
        raise SpecError(f"{path.name} cannot be read.") from None
    if path.suffix.lower() == ".json":
        whole = _parsed(text)
        yield from whole if isinstance(whole, list) else [whole]
        return
    yield from (_parsed(line) for line in text.split("\n") if line.strip())  # JSON may hold other ends of lines


def _parsed(text: str) -> Any:
    try:
        return decoded(text) if text.strip().startswith(MARK) else json.loads(text)
    except (ValueError, RecursionError, SpecError):
        return None


def _read(design: DesignRecord | QuestionnaireRecord, found: Any) -> _Answer | str:
    """An answer of the page, or why it is none."""
    match found:
        case {"format": str(form), "survey": str(survey), "receipt": str(receipt), "answers": list(answers), **rest}:
            pass
        case _:
            return "could not be read"
    if form != FORMAT or len(receipt) != RECEIPT or receipt.strip("0123456789abcdef"):
        return "could not be read"
    designs = designs_of(design)
    if survey != design.code:
        return "belong to another design: they were drawn with other chances"
    cells = [receipt]
    for one, answer in zip(designs, answers, strict=False):
        match answer:
            case {"design": str(code), "answer": str(token)} if code == one.code:
                cells += [code, _token(one, token)]
            case _:
                return "could not be read"
    if len(answers) != len(designs):
        return "could not be read"
    return _Answer(receipt, tuple(cells), _open(rest.get("open")))


def _token(design: DesignRecord, token: str) -> str:
    said = NONE
    while said in design.among:
        said += NONE
    return token if tokens.heard(design, token) is not None else said


def _open(found: Any) -> dict[str, str]:
    """The open answers: names and words that a table can hold without acting on whoever opens it."""
    if not isinstance(found, dict):
        return {}
    return {name: value for name, value in found.items() if harmless(name) and harmless(value) and not _taken(name)}


def _taken(name: str) -> bool:
    return RESERVED.fullmatch(name.casefold()) is not None


def _named(read: Iterable[_Answer]) -> list[str]:
    """The open questions that most answers hold; of names that differ in capitals alone, one."""
    counts = Counter(name for one in read for name in one.open)
    kept: dict[str, str] = {}
    for name, _ in counts.most_common():
        kept.setdefault(name.casefold(), name)
    return list(kept.values())[:MOST_OPEN]
