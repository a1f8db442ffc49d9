"""A page that asks, mixes chance into the answer on the respondent's device, and sends only the result.

One HTML file: no network, no storage, no library. A Content-Security-Policy has the hashes of the page's one script and
one style. It lets nothing else run or load, and lets a request go to the address given and nowhere else. ``form.js``
draws with ``crypto.getRandomValues`` and whole numbers. tests/service/test_survey_form.py drives it in a browser and
compares its law with the design's. It also looks for the true answer wherever a page can put one.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib.resources import files
from math import prod
from pathlib import Path
from typing import Final, TypeAlias, assert_never
from urllib.parse import urlsplit

from reticent.atomic_file import replace
from reticent.data.format import on_one_line
from reticent.errors import QuestionError, SpecError
from reticent.exact.rounding import round_up
from reticent.mechanisms.hadamard import Hadamard
from reticent.mechanisms.hashing import Hashing
from reticent.mechanisms.kary import KAry
from reticent.mechanisms.local_mean import LocalMean
from reticent.mechanisms.one_sided import OneSided
from reticent.mechanisms.randomized_response import RandomizedResponse
from reticent.mechanisms.subset_selection import Subset
from reticent.mechanisms.unary_encoding import Unary
from reticent.pages.markup import render, stylesheet, trusted
from reticent.privacy.numbers import about, show
from reticent.survey import device
from reticent.survey.description import say
from reticent.survey.design_record import DesignRecord
from reticent.survey.form_words import SCRIPT, PageWords, english_words, read_words
from reticent.survey.questionnaire_record import QuestionnaireRecord

FORMAT: Final = "reticent survey answer 1"
BUTTONS: Final = 12  # truths that are shown as buttons; more make a list
MOST: Final = 2_000  # answers to choose among on a page
TABLE: Final = 8  # rows and columns of a table of chances that can be read
LONGEST: Final = 2_000  # letters of a title or of an open question
SETTLED: Final = ("answers", "kary")  # recipes whose messages are the answers themselves
LOCAL: Final = ("localhost", "127.0.0.1", "[::1]")
MOST_OPEN: Final = 50
FORMULA: Final = "=+-@"  # at the start of a cell a spreadsheet takes it for a formula
RESERVED: Final = re.compile(r"receipt|(design|answer)(_[0-9]+)?")
PRIOR: Final = Fraction(1, 10)  # of the example that puts the factor into words

Open: TypeAlias = Mapping[str, Sequence[str]]


def form(
    design: DesignRecord | QuestionnaireRecord,
    path: str | Path,
    post: str | None = None,
    *,
    ask: Open | None = None,
    title: str = "",
    words: str | Path | None = None,
) -> Path:
    """Write the page of a survey: one HTML file that works without a network.

    Parameters
    ----------
    design : DesignRecord or QuestionnaireRecord
        The question, or the questions that one person answers.
    path : str or Path
        The file to write; one that is there is replaced.
    post : str, optional
        An address, https://, that takes an answer by POST as JSON; it must allow other sites (CORS) unless the page
        lies there too. With or without it the page offers a file and a code to hand in.
    ask : mapping of str to sequences of str, optional
        Questions whose answers are sent as they are, with no chance mixed in, for subgroups: ``{"region": ["north",
        "south"]}``. The page says so beside each.
    title : str
        The heading; by default that of the words.
    words : str or Path, optional
        A file with the words of the page: another language, what people agree to, and whom to ask
        (``reticent.survey.form_words``).

    Returns
    -------
    Path
        The file written.

    Raises
    ------
    QuestionError
        For more than 2,000 answers to choose among, or a list for ``ask`` that is none.
    SpecError
        For an address that is not https, or a file that cannot be written.

    Guarantee
    ---------
    What is sent is the design's mechanism on the true answer, and a receipt that is chance alone: the loss of the
    design, or of the questionnaire. Answers to ``ask`` are sent in the clear and are outside of it.
    """
    text = page(design, post, ask=ask or {}, title=title, words=None if words is None else read_words(words))
    target = Path(path)
    try:
        replace(target, text.encode())
    except OSError:
        raise SpecError(f"{target} cannot be written: check that its folder exists and is yours.") from None
    return target


def page(
    design: DesignRecord | QuestionnaireRecord,
    post: str | None,
    *,
    ask: Open,
    title: str = "",
    words: PageWords | None = None,
) -> str:
    """The page as text; see ``form``.

    Parameters
    ----------
    design : DesignRecord or QuestionnaireRecord
    post : str or None
        An https:// address that takes an answer by POST.
    ask : mapping of str to sequence of str
        Open questions with their answers.
    title : str
    words : PageWords, optional

    Returns
    -------
    str
        HTML.
    """
    designs, told = designs_of(design), words or english_words()
    title = title or told["title"]
    _check(designs, ask, title)
    address = None if post is None else _address(post)
    script = _script(design, address, ask, told)
    host = None if address is None else urlsplit(address).hostname or ""
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(stylesheet())}'; img-src data:; "
        f"connect-src {_source(address)}; base-uri 'none'; form-action 'none'"
    )
    return render(
        "survey_form",
        {
            "policy": trusted(policy),  # made of hashes and of an address that _address has checked
            "title": title,
            "promises": [
                QuestionProtection(one.question, say(one), one.among, _chances(one), plainly(one, told))
                for one in designs
            ],
            "words": told,
            "consent": told["consent"].split("\n") if told["consent"].strip() else [],
            "contact": told["contact"].split("\n") if told["contact"].strip() else [],
            "sure": _sure(designs, told),
            "odds": odds_words(designs),
            "sent_openly": ", ".join(ask),
            "heading": told["question" if len(designs) + len(ask) == 1 else "questions"],
            "fields": _fields(designs, ask, told),
            "host": host,
            "travels": told["by_hand"] if host is None else told["host_learns"].format(host=host),
            "digest": design.fingerprint,
            "script": trusted(script),
        },
    )


def designs_of(design: DesignRecord | QuestionnaireRecord) -> tuple[DesignRecord, ...]:
    """The questions, one or several."""
    return design.designs if isinstance(design, QuestionnaireRecord) else (design,)


def _check(designs: Sequence[DesignRecord], ask: Open, title: str) -> None:
    for design in designs:
        if len(design.among) > MOST:
            raise QuestionError(
                f"{len(design.among):,} answers are too many to choose among on a page: at most {MOST:,}. Use "
                "design.randomize on the respondent's device."
            )
    if len(title) > LONGEST or not on_one_line(title):
        raise QuestionError(f"a title is one line of at most {LONGEST:,} letters")
    check_open(ask)


def check_open(ask: Open) -> None:
    """Refuse open questions that a table of answers could not hold as they are."""
    if len(ask) > MOST_OPEN or len({name.casefold() for name in ask}) < len(ask):
        raise QuestionError(f"open questions have different names, and there are at most {MOST_OPEN} of them.")
    for name, among in ask.items():
        if len(set(among)) < len(among) or len(among) < 2:
            raise QuestionError(f"'{name[:60]}' needs a list of two or more different answers to choose from.")
        for text in (name, *among):
            if not harmless(text):
                raise QuestionError(
                    f"{text[:60]!r} cannot be a name or an answer of an open question: at most {LONGEST:,} printable "
                    "letters without blanks at the ends, the first none of = + - @, which a spreadsheet would run."
                )
        if RESERVED.fullmatch(name.casefold()):
            raise QuestionError(f"'{name}' is a column of every table of answers: give the open question another name.")


def harmless(text: object) -> bool:
    """Tell if a cell can hold ``text`` without acting on whoever opens the table."""
    return (
        isinstance(text, str)
        and 0 < len(text) <= LONGEST
        and text.isprintable()
        and text == text.strip()
        and text[0] not in FORMULA
    )


# --- the script -------------------------------------------------------------------------------------------------------


def _source_code() -> str:
    """The script of every form, without the facts of a survey."""
    return files("reticent.survey").joinpath("form.js").read_text("utf-8")


def _script(design: DesignRecord | QuestionnaireRecord, address: str | None, ask: Open, words: PageWords) -> str:
    facts = {
        "format": FORMAT,
        "survey": design.code,
        "post": address,
        "questions": [_facts(one, words) for one in designs_of(design)],
        "words": {name: words[name] for name in SCRIPT},
        "open": [{"name": name, "among": list(among)} for name, among in ask.items()],
    }
    stated = json.dumps(facts, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")
    return _source_code().replace('"use strict";', f'"use strict";\nconst SURVEY = {stated};', 1)


def _facts(design: DesignRecord, words: PageWords) -> dict[str, object]:
    """Facts of a question for the script; they list the possible answers only if an answer itself is sent."""
    recipe = device.recipe(design)
    among = list(design.among) if recipe["kind"] in SETTLED else []
    return {
        "design": design.code,
        "question": design.question,
        "among": among,
        "range": _range(design, words),
        "recipe": recipe,
    }


def _range(design: DesignRecord, words: PageWords) -> str:
    if design.low is None or design.high is None:
        return ""
    return words["between"].format(low=show(design.low), high=show(design.high))


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _address(post: str) -> str:
    """The address to send to, if answers may travel there."""
    try:
        parts = urlsplit(post)
        good = re.fullmatch(r"https?://[A-Za-z0-9.\-\[\]:]+(/[A-Za-z0-9._~%/\-]*)?(\?[A-Za-z0-9._~%=&\-]*)?", post)
        host, _ = parts.hostname, parts.port
    except ValueError:
        good, host = None, None
    if good is None or not host:
        raise SpecError("The address to send to must look like https://survey.example/answers.")
    if parts.scheme != "https" and host not in {name.strip("[]") for name in LOCAL}:
        raise SpecError("The address to send to must begin with https://, or anyone on the way could read the answers.")
    return post


def _source(address: str | None) -> str:
    return "'none'" if address is None else address.partition("?")[0]


# --- the words --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class QuestionProtection:
    """Protection of one question: its words, and the chances of each answer by its truth where these can be read."""

    question: str
    says: str
    among: tuple[str, ...]
    chances: tuple[tuple[str, tuple[str, ...]], ...]
    plainly: str


@dataclass(frozen=True, slots=True)
class Field:
    """One question as a control: buttons, a list, or a line for a number where there is nothing to choose among."""

    name: str
    question: str
    among: tuple[str, ...]
    note: str

    @property
    def listed(self) -> bool:
        return len(self.among) > BUTTONS


def plainly(design: DesignRecord, words: PageWords) -> str:
    """Frequency of a changed answer, in one plain sentence: "In 25 of 100 cases … the opposite"."""
    made = design.mechanism
    match made:
        case OneSided():
            yes, no = design.among
            return _told(words["one_sided"], made.truth, yes=yes, no=no)
        case RandomizedResponse():
            yes, no = design.among
            heard_no = made.distribution("yes")["no"]
            heard_yes = made.distribution("no")["yes"]
            if heard_no == heard_yes:
                return _told(words["opposite"], heard_no)
            return _told(words["uneven"], heard_no, heard_yes, yes=yes, no=no)
        case KAry():
            return _told(words["another"], 1 - made.hit)
        case Unary():
            return _told(words["marks"], 1 - made.hit, made.miss, size=f"{made.size:,}")
        case Subset():
            return _told(words["some"], 1 - made.hit, size=f"{made.size:,}", chosen=f"{made.chosen:,}")
        case Hadamard():
            return _told(words["code"], 1 - made.hit, Fraction(1, 2))
        case Hashing():
            return _told(words["code"], 1 - made.hit, made.miss)
        case LocalMean() if made.cells == 1 and made.width == 1:
            return _told(words["two_ends"], 1 - made.hit, high=show(design.high or Fraction(0)))
        case LocalMean():
            return _told(words["place"], 1 - made.hit)
        case _:
            assert_never(made)


def _told(sentence: str, chance: Fraction, other: Fraction = Fraction(0), **parts: str) -> str:
    """A sentence with its chances as whole cases: the chance of being changed is never made larger than it is."""
    (n, of), (m, of_m) = cases(chance), cases(other)
    return sentence.format_map({"n": n, "of": of, "m": m, "of_m": of_m, **parts})


def cases(chance: Fraction) -> tuple[str, str]:
    """A chance as cases in 100, or in 10,000 where it is below one in a hundred: ("25", "100"), rounded down."""
    of = 100 if chance >= Fraction(1, 100) or not chance else 10_000
    tenths = (chance * of * 10).__floor__()
    return show(Fraction(tenths, 10)), f"{of:,}"


def _sure(designs: Sequence[DesignRecord], words: PageWords) -> str:
    """Belief that is possible afterwards, in one plain sentence; or that one answer gives a choice away."""
    ratios = [design.ratio for design in designs]
    known = [ratio for ratio in ratios if ratio is not None]
    if len(known) < len(ratios):
        return words["exposed"]
    factor = prod(known, start=Fraction(1))
    return words["unsure"].format(after=_up(100 * PRIOR * factor / (PRIOR * factor + 1 - PRIOR)))


def odds_words(designs: Sequence[DesignRecord], does: str = "send") -> str:
    """Disclosure by one person's answers, in odds and for one example; ``does`` is send or say."""
    ratios = [design.ratio for design in designs]
    known = [ratio for ratio in ratios if ratio is not None]
    if len(known) < len(ratios):
        return (
            "Please read this before you choose: one of the answers is heard only if it is true, and then it gives "
            "your choice away. How often that happens is stated above."
        )
    factor = prod(known, start=Fraction(1))
    after = PRIOR * factor / (PRIOR * factor + 1 - PRIOR)
    what = f"what you {does}" if len(designs) == 1 else f"your {len(designs)} answers together"
    return (
        f"Whatever someone believed about your true answer, {what} can change the odds of it by a factor of at most "
        f"{_up(factor)}. Someone who thought something true of you with 10\u00a0% would then think so with at most "
        f"{_up(100 * after)}\u00a0%. That holds whatever else they know and whatever computer they have."
    )


def _up(number: Fraction) -> str:
    """Three digits, rounded up: a factor never looks smaller than it is."""
    return show(round_up(number, 3))


def _chances(design: DesignRecord) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The chances in percent by truth and answer, where the table is small enough to be read."""
    if device.recipe(design)["kind"] not in SETTLED or len(design.among) > TABLE:
        return ()
    laws = ((truth, device.distribution(design, truth)) for truth in design.among)
    return tuple(
        (truth, tuple(about(100 * law.get(answer, Fraction(0)), 3) for answer in design.among)) for truth, law in laws
    )


def _fields(designs: Sequence[DesignRecord], ask: Open, words: PageWords) -> list[Field]:
    openly = words["openly"]
    asked = [Field(f"q{place}", one.question, one.among, _range(one, words)) for place, one in enumerate(designs)]
    return [
        *asked,
        *(Field(f"o{place}", name, tuple(among), openly) for place, (name, among) in enumerate(ask.items())),
    ]
