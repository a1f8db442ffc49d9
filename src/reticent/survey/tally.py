"""Counting tokens: for each answer how many messages support it. All an estimate needs, and it adds up.

A message supports an answer in the sense of Wang, Blocki, Li and Jha 2017: the label itself, a bit that is 1, a plus
in the answer's Hadamard row, a class that is the answer's hash. Hadamard and hashing are counted for all answers at
once by a transform: with c(a, y) messages (function a, value y), sum over a of c(a, a . v) is
(n + sum over t != 0 and a of sum over y of c(a, y) w^{-ty} w^{t a . v}) / q, w = e^{2 pi i / q}: one Fourier
transform over m digits, of whole numbers that are rounded back to whole numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray

from reticent.errors import PublicParameterError
from reticent.mechanisms.hadamard import Hadamard
from reticent.mechanisms.hashing import Hashing
from reticent.mechanisms.kary import KAry
from reticent.mechanisms.local_mean import LocalMean
from reticent.mechanisms.one_sided import OneSided
from reticent.mechanisms.randomized_response import RandomizedResponse
from reticent.mechanisms.subset_selection import Subset
from reticent.mechanisms.unary_encoding import Unary
from reticent.survey.design_record import DesignRecord
from reticent.survey.tokens import heard

Answers: TypeAlias = Sequence[object] | Mapping[str, int] | NDArray[np.generic]


@dataclass(frozen=True, slots=True, eq=False)
class ReportTally:
    """Tally of the reports.

    It has the ``support`` of each answer, or the count of each place of a number, among ``answers`` messages. ``meant``
    are the answers of the design that some of those off its list are, but for capitals.
    """

    answers: int
    support: NDArray[np.int64]
    missing: int = 0
    off_list: int = 0
    meant: tuple[str, ...] = ()


def tally(design: DesignRecord, answers: Answers) -> ReportTally:
    """Count tokens, or what ``randomize_many`` gave."""
    if isinstance(answers, np.ndarray) and answers.ndim == 2:
        return _of_bits(design, answers)
    if isinstance(answers, np.ndarray) and answers.dtype.kind in "iu":
        return _of_numbers(design, answers)
    if isinstance(answers, Mapping):
        counts = {str(token): _count(count) for token, count in answers.items()}
    elif isinstance(answers, np.ndarray) and answers.dtype.kind == "U":
        tokens, times = np.unique(answers, return_counts=True)
        counts = {str(token): int(count) for token, count in zip(tokens, times, strict=True)}
    else:
        counts = Counter("" if _empty(token) else str(token) for token in answers)
    return of_counts(design, counts)


def of_counts(design: DesignRecord, counts: Mapping[str, int]) -> ReportTally:
    """Count tokens that were counted by their text; the empty text is no answer."""
    missing = sum(count for text, count in counts.items() if not text.strip())
    found = [(heard(design, text.strip()), count) for text, count in counts.items() if text.strip()]
    kept = [(number, count) for number, count in found if number is not None]
    off = sum(count for number, count in found if number is None)
    total = sum(count for _, count in kept)
    others = {text.strip().casefold() for text in counts if off and heard(design, text.strip()) is None}
    meant = tuple(label for label in design.among if str(label).casefold() in others)
    return ReportTally(total, _support(design, kept), missing, off, meant)


def _empty(token: object) -> bool:
    return token is None or token == "" or token != token  # NaN, which is how data frames write a missing cell


def _count(count: int) -> int:
    number = int(count)
    if number != count or number < 0:
        raise PublicParameterError("counts of tokens are integers >= 0")
    return number


def _of_bits(design: DesignRecord, bits: NDArray[np.generic]) -> ReportTally:
    made = design.mechanism
    if not isinstance(made, Unary | Subset) or bits.shape[1] != made.size or bits.dtype.kind not in "bui":
        raise PublicParameterError("these bits are no answers to this design")
    right = ((bits == 0) | (bits == 1)).all(axis=1)
    if isinstance(made, Subset):
        right &= bits.sum(axis=1) == made.chosen
    kept = bits if right.all() else bits[right]
    return ReportTally(len(kept), kept.sum(axis=0, dtype=np.int64), 0, len(bits) - len(kept))


def _of_numbers(design: DesignRecord, numbers: NDArray[np.generic]) -> ReportTally:
    made = design.mechanism
    match made:
        case Hadamard():
            bound = made.order
        case Hashing():
            bound = made.functions * made.values
        case LocalMean():
            bound = made.places
        case KAry() | Unary() | Subset() | RandomizedResponse() | OneSided():
            raise PublicParameterError("the answers to this design are labels or rows of bits, not integers")
        case _:
            assert_never(made)
    found = numbers.astype(np.int64)
    right = (found >= 0) & (found < bound)
    values, times = np.unique(found[right], return_counts=True)
    return ReportTally(int(right.sum()), supports(design, values, times), 0, int((~right).sum()))


def _support(design: DesignRecord, kept: Sequence[tuple[int, int]]) -> NDArray[np.int64]:
    made = design.mechanism
    times = np.array([count for _, count in kept], np.int64)
    if isinstance(made, Unary | Subset):  # integers of more than 64 bits
        total = np.zeros(made.size, np.int64)
        for number, count in kept:
            total += count * np.array([number >> place & 1 for place in range(made.size)], np.int64)
        return total
    return supports(design, np.array([number for number, _ in kept], np.int64), times)


def supports(design: DesignRecord, values: NDArray[np.int64], times: NDArray[np.int64]) -> NDArray[np.int64]:
    """The support of each answer from what was heard and how often; of a number how often each place.

    Parameters
    ----------
    design : DesignRecord
    values : array of shape (m,), int
        Codes of the tokens heard.
    times : array of shape (m,), int
        How often each was heard.

    Returns
    -------
    array of shape (k,), int
        A count for each answer.

    Raises
    ------
    PublicParameterError
        Answers of bits, which are counted place by place.
    """
    made = design.mechanism
    match made:
        case RandomizedResponse() | OneSided():
            return _histogram(values, times, 2)
        case KAry():
            return _histogram(values, times, made.size)
        case LocalMean():
            return _histogram(values, times, made.places)
        case Hadamard():
            signed = _walsh(_histogram(values, times, made.order))
            return (int(times.sum()) + signed[1 : made.size + 1]) // 2
        case Hashing():
            return _hashed(made, values, times)
        case Unary() | Subset():
            raise PublicParameterError("bits are counted place by place")
        case _:
            assert_never(made)


def _histogram(values: NDArray[np.int64], times: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    out = np.zeros(size, np.int64)
    np.add.at(out, values, times)
    return out


def _walsh(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """H c for the Hadamard matrix of bits in common, in whole numbers."""
    out, half = counts.copy(), 1
    while half < len(out):
        pairs = out.reshape(-1, 2, half)
        plus, minus = pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]
        out = np.stack([plus, minus], axis=1).reshape(-1)
        half *= 2
    return out


def _hashed(made: Hashing, values: NDArray[np.int64], times: NDArray[np.int64]) -> NDArray[np.int64]:
    base, digits, total = made.values, made.digits, made.functions
    function, value = np.divmod(values, base)
    waves = np.zeros(total, np.complex128)
    for t in range(1, base):
        moved, power = np.zeros(len(values), np.int64), 1
        for _ in range(digits):
            moved += (function // power * t % base) * power
            power *= base
        angle = np.exp(-2j * np.pi * (t * value % base) / base) * times
        waves += np.bincount(moved, angle.real, total) + 1j * np.bincount(moved, angle.imag, total)
    transformed = np.fft.ifftn(waves.reshape((base,) * digits)).reshape(-1)[: made.size].real * total
    return np.rint((int(times.sum()) + transformed) / base).astype(np.int64)
