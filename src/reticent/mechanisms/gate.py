"""The one place where statistics, sessions and fits draw: exact numbers go in, protected ones come out.

    statistics --draw(mechanism, exact, entropy)--> noisy numbers
    statistics --choose(mechanism, candidates, start, entropy)--> a candidate
    statistics --passes(mechanism, distance, bar, entropy)--> whether a proposal may be released

Everything the rows can do to an answer passes here, so whoever sees these calls sees all of it. A ``Recorder`` is an
entropy that does: it is told every call, with the exact numbers, and answers it itself. Audits on made-up rows use
one (docs/theory/replay.md); a release draws from ``SystemEntropy``, for which this module adds nothing to ``sample``.

A mechanism is a frozen value with ``guarantee`` and ``sample(exact, entropy)``: exact integers in, noisy integers out,
no tables and no people. A specimen is one such value with a pair of neighbouring inputs and the law of the output. The
tests draw from it, compare with the law, and check the ratio of the two laws against the guarantee. ``AXIOMS`` of its
module say how a stored guarantee is stated again: without them no certificate can be verified.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Generic, Protocol, TypeAlias, TypeVar, cast, runtime_checkable

from reticent.entropy import Entropy, SystemEntropy, system
from reticent.exact.coins import uniform
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee, Theorem

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

In = TypeVar("In")
Out = TypeVar("Out")
In_contra = TypeVar("In_contra", contravariant=True)
Out_co = TypeVar("Out_co", covariant=True)
Again: TypeAlias = Callable[[dict[str, str], Adjacency], Guarantee]  # a leaf, from its stored parameters and neighbours
Axioms: TypeAlias = tuple[tuple[Theorem, Again], ...]  # of a module: every theorem it states, and how it does it again


class Mechanism(Protocol[In_contra, Out_co]):
    """Anything with a derived guarantee that turns an exact answer into a protected one."""

    @property
    def guarantee(self) -> Guarantee: ...

    def sample(self, exact: In_contra, entropy: Entropy) -> Out_co: ...


@dataclass(frozen=True, slots=True)
class Specimen(Generic[In, Out]):
    """One mechanism, two neighbouring inputs, and the probability of each output given an input.

    ``make`` builds the mechanism for another epsilon, where no parameter alone sets the noise.
    """

    name: str
    mechanism: Mechanism[In, Out]
    here: In
    there: In
    mass: Callable[[In, Out], float]
    make: Callable[[Fraction], Mechanism[In, Out]] | None = None


@dataclass(frozen=True, slots=True)
class Bar:
    """Threshold of a noisy distance, with the greatest distance at which the proposal behind the test may be unsafe.

    A test may pass though the distance of either neighbour is at most ``unsafe``. The release after it is then covered
    by delta alone. A question of a sparse vector proposes nothing: there it is None.
    """

    threshold: int
    unsafe: int | None


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Call:
    """One request for noise: the mechanism, the exact numbers, and the answer it got.

    ``start`` is where each run of ``exact`` begins, for a choice among runs of equal candidates; the answer is then
    one candidate. ``bar`` belongs to a test.
    """

    mechanism: object
    exact: object
    start: NDArray[np.int64] | None
    output: object
    bar: Bar | None = None

    def __repr__(self) -> str:
        return f"<a call of {type(self.mechanism).__name__}>"


class Recorder:
    """An entropy that is told every call of the gate and answers it by ``respond``; for audits on made-up rows.

    Parameters
    ----------
    respond : callable
        From mechanism, exact numbers and ``start`` (None but for ``choose``) to what the mechanism is to have drawn.
    stream : Entropy
        Where coins tossed outside the gate come from; ``tossed`` has the size in bits of each such request.
    """

    __slots__ = ("_respond", "_stream", "calls", "tossed")

    def __init__(self, respond: Callable[[object, object, NDArray[np.int64] | None], object], stream: Entropy) -> None:
        self._respond, self._stream = respond, stream
        self.calls: list[Call] = []
        self.tossed: list[int] = []

    def noise(
        self, mechanism: object, exact: object, start: NDArray[np.int64] | None = None, bar: Bar | None = None
    ) -> object:
        """The answer to one call, which is noted.

        Parameters
        ----------
        mechanism : Mechanism
        exact : object
            The private input.
        start : array of int, optional
            First candidate of each run.
        bar : Bar, optional
            Threshold that the output is compared with.

        Returns
        -------
        object
            What the mechanism's ``sample`` gives.
        """
        output = self._respond(mechanism, exact, start)
        self.calls.append(Call(mechanism, exact, start, output, bar))
        return output

    def bits(self, count: int) -> int:
        self.tossed.append(count)
        return self._stream.bits(count)

    def words(self, count: int) -> NDArray[np.uint64]:
        self.tossed.append(64 * count)
        return self._stream.words(count)

    def __repr__(self) -> str:
        return "<Recorder>"


@runtime_checkable
class AuditTable(Protocol):
    """Source of made-up rows in an audit; their noise is drawn from the recorder ``coins``."""

    def coins(self) -> SystemEntropy: ...


def coins_for(source: object) -> SystemEntropy:
    """The operating system's coins, for whatever rows a study keeps; made-up rows are told by their own method."""
    return source.coins() if isinstance(source, AuditTable) else system()


def draw(mechanism: Mechanism[In, Out], exact: In, entropy: Entropy) -> Out:
    """Draw of ``mechanism`` for the input ``exact``; a recorder supplies it during an audit.

    Parameters
    ----------
    mechanism : Mechanism
    exact : input of the mechanism
        Private.
    entropy : Entropy

    Returns
    -------
    output of the mechanism
    """
    if isinstance(entropy, Recorder):
        return cast(Out, entropy.noise(mechanism, exact))  # what respond gives is checked by the audit that gave it
    return mechanism.sample(exact, entropy)


def passes(mechanism: Mechanism[Sequence[int], tuple[int, ...]], distance: int, bar: Bar, entropy: Entropy) -> bool:
    """Tell if a noisy distance reaches the threshold of ``bar``.

    Parameters
    ----------
    mechanism : Mechanism
        Noise for one integer.
    distance : int
        Private, in rows.
    bar : Bar
    entropy : Entropy

    Returns
    -------
    bool
    """
    if isinstance(entropy, Recorder):
        (noisy,) = cast(tuple[int, ...], entropy.noise(mechanism, (distance,), bar=bar))  # as checked by the audit
    else:
        (noisy,) = mechanism.sample((distance,), entropy)
    return noisy >= bar.threshold


def choose(mechanism: Mechanism[In, int], exact: In, start: NDArray[np.int64], entropy: Entropy) -> int:
    """A candidate: a run by ``mechanism``, then one of the run's, ``start[i] <= candidate < start[i + 1]``, evenly.

    Where the runs begin depends on the rows, so the number of the run is no protected output; the candidate is.

    Parameters
    ----------
    mechanism : Mechanism
    exact : input of the mechanism
        Candidates: scores and multiplicities of the runs, private.
    start : array of shape (runs + 1,), int
        First candidate of each run.
    entropy : Entropy

    Returns
    -------
    int
        A candidate.
    """
    if isinstance(entropy, Recorder):
        return cast(int, entropy.noise(mechanism, exact, start))  # checked by the audit that gave it
    run = mechanism.sample(exact, entropy)
    first, stop = int(start[run]), int(start[run + 1])
    return first + uniform(stop - first, entropy)
