"""The tape of a replay: what mechanisms are made to draw, and where coins tossed outside the gate come from.

    recorded(tape)                   an entropy for the first run, which notes every call
    recorded(tape, earlier.calls)    one for the second run: the same calls get the same outputs again

Every output of a tape is one its mechanism could have drawn, so a difference that any of them brings out is one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, assert_never, cast

import numpy as np
from numpy.typing import NDArray

from reticent.entropy import Entropy, Replayed
from reticent.mechanisms import gate
from reticent.mechanisms.exponential import Candidates
from reticent.mechanisms.gate import Call, Mechanism, Recorder
from reticent.mechanisms.gaussian import Gaussian
from reticent.mechanisms.geometric import Geometric
from reticent.mechanisms.key_listing import KeyListing
from reticent.mechanisms.sparse_vector import NoiseTerm

Style: TypeAlias = Literal["law", "still", "many", "far"]

STYLES: Final[tuple[Style, ...]] = ("law", "many", "still", "far")
LIKELY: Final[tuple[Style, ...]] = ("law", "still")  # where a test that passes by luck is what delta is for
FAR: Final = 10**7  # so many values that no quantile is refused
Respond: TypeAlias = Callable[[object, object, NDArray[np.int64] | None], object]


@dataclass(frozen=True, slots=True)
class Tape:
    """Outputs that mechanisms are made to give: by their own law, nothing added, much added, or far to either side.

    Every output of a tape is one the mechanism could have drawn, so a leak that any of them shows is a leak. ``coins``
    names the coins tossed outside the gate, which a release makes the key of (which rows of a person are kept).
    ``files``: the files of the release are written too, which takes longer than the certificate alone.
    """

    style: Style = "law"
    key: int = 0
    coins: int = 0
    files: bool = False


class Tosses:
    """Coins where every request has a stream of its own: one word for each row is then the same word for each row.

    A table of one row more asks for one word more, and all that others ask for later stays as it was.
    """

    __slots__ = ("_count", "_key")

    def __init__(self, key: str) -> None:
        self._key, self._count = key, 0

    def _next(self) -> Replayed:
        self._count += 1
        return Replayed(f"{self._key} {self._count}")

    def bits(self, count: int) -> int:
        return self._next().bits(count)

    def words(self, count: int) -> NDArray[np.uint64]:
        return self._next().words(count)


def recorded(tape: Tape, earlier: Sequence[Call] = (), note: Callable[[], None] = lambda: None) -> Recorder:
    """An entropy that answers by the tape, and calls like those of an earlier run with what they got then.

    ``note`` is called before every answer.

    Parameters
    ----------
    tape : Tape
    earlier : sequence of Call
        Calls of an earlier run.
    note : function
        Called before every answer.

    Returns
    -------
    Recorder
    """
    answer = reply(tape)
    place = 0

    def respond(mechanism: object, exact: object, start: NDArray[np.int64] | None) -> object:
        nonlocal place
        place += 1
        note()
        if place <= len(earlier) and _alike(earlier[place - 1], mechanism, exact, start):
            return earlier[place - 1].output
        return answer(mechanism, exact, start)

    return Recorder(respond, Tosses(f"audit coins {tape.coins}"))


def reply(tape: Tape) -> Respond:
    """Function that gives the output of a mechanism on this tape."""
    stream = Replayed(f"audit tape {tape.key}")

    def choice(exact: Candidates, start: NDArray[np.int64] | None) -> int:
        """A candidate of public weight: the best, or the first, or the last."""
        places = np.array([place for place, weight in enumerate(exact.weights.tolist()) if weight > 0])
        scores = exact.scores[places]
        place = int(places[{"still": int(np.argmin(scores)), "many": 0}.get(tape.style, -1)])
        return place if start is None else int(start[place])

    def answer(mechanism: object, exact: object, start: NDArray[np.int64] | None) -> object:
        if tape.style != "law" and isinstance(exact, Candidates):
            return choice(exact, start)
        if (
            tape.style != "law"
            and isinstance(mechanism, Geometric | Gaussian | NoiseTerm)
            and isinstance(exact, Sequence)
        ):
            far = _far(mechanism)
            added = {"still": 0, "many": far}.get(tape.style)
            return tuple(
                int(value) + (added if added is not None else far if stream.bits(1) else -far) for value in exact
            )
        if tape.style == "many" and isinstance(mechanism, KeyListing) and isinstance(exact, Mapping):
            return tuple(sorted(key for key, held in exact.items() if mechanism.may_list(held)))
        return _by_law(cast("Mechanism[object, object]", mechanism), exact, start, stream)  # it came by the gate

    return answer


def _far(mechanism: Geometric | Gaussian | NoiseTerm) -> int:
    """So far that nothing near decides; the threshold of a sparse vector stays, or its questions would follow it."""
    match mechanism:
        case NoiseTerm(_, "threshold"):
            return 0
        case Gaussian():
            return FAR * int(mechanism.variance) + FAR
        case Geometric() | NoiseTerm():
            return FAR * int(mechanism.scale) + FAR
        case _:
            assert_never(mechanism)


def _by_law(
    mechanism: Mechanism[object, object], exact: object, start: NDArray[np.int64] | None, stream: Entropy
) -> object:
    if start is None:
        return gate.draw(mechanism, exact, stream)
    # a choice among runs is one of candidates
    return gate.choose(cast("Mechanism[Candidates, int]", mechanism), cast(Candidates, exact), start, stream)


def _alike(earlier: Call, mechanism: object, exact: object, start: object) -> bool:
    """Tell if the second run asks the same as the first, so that the same output is possible."""
    return (
        earlier.mechanism == mechanism
        and (earlier.start is None) == (start is None)
        and (start is not None or _length(earlier.exact) == _length(exact))
    )


def _length(exact: object) -> int | None:
    return len(exact.scores) if isinstance(exact, Candidates) else len(exact) if isinstance(exact, Sequence) else None
