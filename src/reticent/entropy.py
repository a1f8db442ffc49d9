"""Random bits: the ``Entropy`` protocol, the operating system's generator, and a replayed stream for tests.

``SystemEntropy`` is the only source a release accepts. ``Replayed`` is a different type: rehearsals and tests use it,
so that what they print can be printed again, and nothing that charges a ledger takes it.
"""

from __future__ import annotations

import hashlib
import os
import threading
from io import BytesIO
from os import getpid
from typing import TYPE_CHECKING, ClassVar, NoReturn, Protocol, TypeAlias

from reticent.errors import PublicParameterError, Refusal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

POOL = 4096  # bytes read ahead for small requests; larger requests go straight to the operating system


class Entropy(Protocol):
    """A source of independent fair coins."""

    def bits(self, count: int) -> int:
        """An integer uniform on [0, 2**count); ``count`` >= 0."""
        ...

    def words(self, count: int) -> NDArray[np.uint64]:
        """``count`` independent words, each uniform on [0, 2**64); the array may be read-only."""
        ...


class Forks:
    """Number of forks between this process and the first one: the one mutable fact of this module."""

    count: ClassVar[int] = 0

    @classmethod
    def note(cls) -> None:
        cls.count += 1


class _Pool(threading.local):
    """Bytes read ahead, one pool for each thread, and the process they belong to.

    The process id alone would miss a reused id, the fork hook alone a fork that Python does not see. Both are compared,
    here and at every other store of random values.
    """

    owner: tuple[int, int] | None = None
    stream: BytesIO = BytesIO()


_pool = _Pool()
if hasattr(os, "register_at_fork"):  # there is no fork on Windows
    os.register_at_fork(after_in_child=Forks.note)


class SystemEntropy:
    """The operating system's generator (``os.urandom``), with small requests served from a pool.

    It has no seed and no state of its own: every instance of a thread shares the thread's pool. The pool is dropped
    when the process forks. A signal handler that draws amid a draw gets other bytes, since a read from the pool is one
    step of the interpreter. Copying or pickling is refused, so that nobody comes to believe a copy repeats, or does not
    repeat, the original.

    A virtual machine resumed twice from one snapshot may hold unused pool bytes twice; see ``docs/proofs/sampling.md``.
    """

    __slots__ = ()

    def bits(self, count: int) -> int:
        """An integer uniform on [0, 2**count); ``count`` >= 0."""
        size = (count + 7) >> 3
        return int.from_bytes(_read(size), "little") >> ((size << 3) - count)

    def words(self, count: int) -> NDArray[np.uint64]:
        """``count`` independent words, each uniform on [0, 2**64), as a read-only array."""
        import numpy as np

        return np.frombuffer(_read(8 * count), np.uint64)

    def __repr__(self) -> str:
        return "SystemEntropy()"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise Refusal("SystemEntropy is not copied or pickled; call system() where it is needed.")

    def __copy__(self) -> NoReturn:
        self.__reduce_ex__(2)

    def __deepcopy__(self, memo: object) -> NoReturn:
        self.__reduce_ex__(2)


def _read(size: int) -> bytes:
    if size >= POOL // 4:
        return os.urandom(size)
    here = (getpid(), Forks.count)
    if _pool.owner != here:
        _pool.stream = BytesIO(os.urandom(POOL))
        _pool.owner = here
    got = _pool.stream.read(size)
    while len(got) < size:  # the end of the pool: what is left of it is used, then a fresh one begins
        _pool.stream = BytesIO(os.urandom(POOL))
        got += _pool.stream.read(size - len(got))
    return got


def system() -> SystemEntropy:
    """The operating system's generator."""
    return SystemEntropy()


class Replayed:
    """A deterministic stream of bits expanded from a key, for tests and rehearsals; never for a release.

    Parameters
    ----------
    key : bytes, str or int
        Names the stream. Equal keys give equal streams on every machine; different keys give unrelated ones.

    Notes
    -----
    Block number j of the stream is SHAKE-256 of the key and j. It is as good as fair coins for any test, and it is
    public: whoever knows the key knows the noise.
    """

    __slots__ = ("_block", "_left", "_prefix")

    def __init__(self, key: bytes | str | int) -> None:
        if isinstance(key, bool) or not isinstance(key, bytes | str | int):
            raise PublicParameterError(f"the key of a replayed stream is bytes, str or int, got {type(key).__name__}")
        text = f"{type(key).__name__}:".encode() + (key if isinstance(key, bytes) else str(key).encode())
        self._prefix = hashlib.sha256(b"reticent replay\0" + text).digest()
        self._block = 0
        self._left = b""

    def bits(self, count: int) -> int:
        """An integer on [0, 2**count), the next ``ceil(count / 8)`` bytes of the stream."""
        size = (count + 7) >> 3
        return int.from_bytes(self._read(size), "little") >> ((size << 3) - count)

    def words(self, count: int) -> NDArray[np.uint64]:
        """The next ``count`` words of the stream, as a read-only array."""
        import numpy as np

        return np.frombuffer(self._read(8 * count), "<u8").astype(np.uint64, copy=False)

    def _read(self, size: int) -> bytes:
        parts = [self._left]
        have = len(self._left)
        while have < size:
            name = self._prefix + self._block.to_bytes(8, "little")
            # The first block is short because many tests want a few bits only; the later ones are long for speed.
            parts.append(hashlib.shake_256(name).digest(1024 if self._block == 0 else 65536))
            have += len(parts[-1])
            self._block += 1
        joined = b"".join(parts)
        self._left = joined[size:]
        return joined[:size]

    def __repr__(self) -> str:
        return "Replayed()"


Simulation: TypeAlias = "np.random.Generator"


def simulated(name: str) -> Simulation:
    """A public stream for simulating laws after the noise is drawn: the same for the same name, wherever it is asked.

    It is no ``Entropy``, so nothing that protects anyone can draw from it.
    """
    import numpy as np

    return np.random.Generator(np.random.Philox(key=int.from_bytes(hashlib.sha256(name.encode()).digest()[:16])))


def uniforms(count: int, entropy: Entropy) -> NDArray[np.float64]:
    """Multiples of 2^-53, uniform on [0, 1), for made-up rows: doubles, so nothing that protects anyone draws them."""
    import numpy as np

    return (entropy.words(count) >> np.uint64(11)).astype(np.float64) * 2.0**-53
