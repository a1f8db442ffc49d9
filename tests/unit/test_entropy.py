"""The system's generator never repeats across forks, threads and processes; the replayed stream always does."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

from reticent.entropy import Replayed, SystemEntropy, system
from reticent.errors import PublicParameterError, Refusal
from reticent.exact.sampling import one_discrete_gaussian, one_discrete_laplace

pytestmark = pytest.mark.fresh

BULK = 160_000
SMALL = 6_000
SPAWNED = f"""
import sys
import numpy as np
from reticent.entropy import system
source = system()
words = [source.bits(64) for _ in range({SMALL})] + source.words({BULK}).tolist()
sys.stdout.buffer.write(np.array(words, np.uint64).tobytes())
"""


def drawn() -> np.ndarray:
    """Words by both doors: one at a time from the pool, and in bulk."""
    source = system()
    return np.array([source.bits(64) for _ in range(SMALL)] + source.words(BULK).tolist(), np.uint64)


def in_a_fork(work: object) -> bytes:
    """What a forked child's ``work()`` returns, as bytes."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            with os.fdopen(writing, "wb") as pipe:
                pipe.write(work())  # type: ignore[operator]
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        got = pipe.read()
    os.waitpid(child, 0)
    return got


@pytest.mark.wide
def test_no_word_repeats_across_fork_threads_and_spawn_in_a_million() -> None:
    system().bits(8)  # the pool of this thread is open when the process forks
    parts = [drawn()]
    parts += [np.frombuffer(in_a_fork(lambda: drawn().tobytes()), np.uint64) for _ in range(2)]
    kept: list[np.ndarray] = []
    threads = [threading.Thread(target=lambda: kept.append(drawn())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    parts += kept
    spawned = subprocess.run([sys.executable, "-c", SPAWNED], check=True, capture_output=True)
    parts += [np.frombuffer(spawned.stdout, np.uint64), drawn()]
    words = np.concatenate(parts)
    assert len(words) >= 1_000_000
    # Fair words would collide with probability 10**12 / 2**65 < 2**-24.
    assert len(np.unique(words)) == len(words)


@pytest.mark.parametrize("draw", [one_discrete_laplace, one_discrete_gaussian])
def test_values_drawn_ahead_are_not_given_out_again_in_a_fork(draw: object) -> None:
    wide = 1 << 55 if draw is one_discrete_laplace else 1 << 110

    def many() -> bytes:
        return np.array([draw(wide, system()) for _ in range(1500)], np.int64).tobytes()  # type: ignore[operator]

    first = np.frombuffer(many(), np.int64)  # leaves a block half used
    child = np.frombuffer(in_a_fork(many), np.int64)
    grandchild = np.frombuffer(in_a_fork(lambda: in_a_fork(many)), np.int64)
    later = np.frombuffer(many(), np.int64)
    values = np.concatenate([first, child, grandchild, later])
    assert len(values) == 6000
    assert len(np.unique(values)) == 6000


def test_threads_do_not_share_values_drawn_ahead() -> None:
    kept: list[int] = []
    threads = [
        threading.Thread(target=lambda: kept.extend(one_discrete_laplace(1 << 55, system()) for _ in range(2000)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(kept)) == len(kept) == 8000


def test_a_draw_inside_a_draw_gets_other_bytes() -> None:
    """A finaliser or signal handler that draws while the pool is being read must not see the same bytes."""
    got: list[int] = []

    class Draws:
        def __del__(self) -> None:
            got.extend(system().bits(64) for _ in range(3))

    for _ in range(2000):
        Draws()
        got.append(system().bits(64))
    assert len(set(got)) == len(got) == 8000


@pytest.mark.parametrize("act", [copy.copy, copy.deepcopy, pickle.dumps])
def test_the_system_generator_is_not_copied_or_pickled(act: object) -> None:
    with pytest.raises(Refusal):
        act(system())  # type: ignore[operator]


def test_the_system_generator_shows_nothing_and_takes_no_seed() -> None:
    assert repr(system()) == "SystemEntropy()"
    assert not hasattr(system(), "__dict__")
    with pytest.raises(TypeError):
        SystemEntropy(1)  # type: ignore[call-arg]


@pytest.mark.parametrize("source", [system(), Replayed(7)], ids=["system", "replayed"])
def test_bits_have_the_length_asked_for(source: SystemEntropy | Replayed) -> None:
    assert source.bits(0) == 0
    for count in (1, 7, 8, 9, 63, 64, 65, 4096, 100_000):
        values = [source.bits(count) for _ in range(3)]
        assert all(0 <= value < 1 << count for value in values)
        if count >= 63:
            assert max(values).bit_length() > count - 40
    assert {source.bits(1) for _ in range(200)} == {0, 1}
    words = source.words(10_000)
    assert words.dtype == np.uint64
    assert len(words) == 10_000
    ones = np.unpackbits(words.view(np.uint8)).mean()
    assert abs(ones - 0.5) < 6 * 0.5 / np.sqrt(640_000)  # six standard deviations: 2e-9
    assert len(source.words(0)) == 0


def test_a_replayed_stream_is_the_same_everywhere() -> None:
    stream = Replayed("reticent")
    assert [hex(stream.bits(32)) for _ in range(3)] == GOLDEN_BITS
    assert [hex(word) for word in stream.words(2).tolist()] == GOLDEN_WORDS
    assert Replayed(b"a").bits(64) != Replayed("a").bits(64) != Replayed(1).bits(64) != Replayed("1").bits(64)


def test_a_replayed_stream_does_not_depend_on_how_it_is_cut() -> None:
    whole = Replayed(3).words(20_000)
    cut = Replayed(3)
    pieces = [cut.words(n) for n in (1, 127, 3, 9000, 1, 868, 10_000)]
    assert np.array_equal(np.concatenate(pieces), whole)


@pytest.mark.parametrize("key", [1.0, None, True])
def test_a_replayed_stream_refuses_other_keys(key: object) -> None:
    with pytest.raises(PublicParameterError):
        Replayed(key)  # type: ignore[arg-type]


GOLDEN_BITS = ["0x550df0d", "0xad469e37", "0x9b21eaee"]
GOLDEN_WORDS = ["0xd0f11146a1b72322", "0x77642bda5c9f8f81"]
