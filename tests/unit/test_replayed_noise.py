"""Noise of tests replays: one at a time, in bulk and drawn ahead; forks, processes and marked tests draw fresh bits."""

from __future__ import annotations

import os

import pytest

from reticent import entropy
from reticent.entropy import system
from reticent.exact.sampling import one_discrete_gaussian, one_discrete_laplace
from tests.support.replayed_noise import SYSTEM, drawn_from, stream


def drawn() -> tuple[list[int], list[int]]:
    source = system()
    values = [draw(1 << 40, source) for draw in (one_discrete_laplace, one_discrete_gaussian) for _ in range(3)]
    return [*values, source.bits(64)], source.words(3000).tolist()


@pytest.fixture(scope="module")
def shared() -> tuple[list[int], list[int]]:
    return drawn()


def test_a_name_draws_the_same_again_and_another_name_other_values() -> None:
    found = []
    for name in ("a", "a", "b"):
        with drawn_from(stream(name)):
            found.append(drawn())
    assert found[0] == found[1]
    assert set(found[0][0] + found[0][1]).isdisjoint(found[2][0] + found[2][1])


def test_a_test_draws_from_its_name(request: pytest.FixtureRequest, shared: tuple[list[int], list[int]]) -> None:
    here = drawn()
    with drawn_from(stream(request.node.nodeid)):
        assert drawn() == here
    with drawn_from(stream("tests/unit/test_replayed_noise.py::shared[0]")):
        assert drawn() == shared


@pytest.mark.fresh
def test_a_marked_test_draws_from_the_system() -> None:
    assert entropy._read is SYSTEM


def test_a_fork_draws_other_values() -> None:
    reading, writing = os.pipe()
    with drawn_from(stream("fork")):
        child = os.fork()
        if child == 0:
            os.write(writing, system().bits(64).to_bytes(8, "little"))
            os._exit(0)
        assert int.from_bytes(os.read(reading, 8), "little") != system().bits(64)
    os.waitpid(child, 0)
    os.close(reading)
    os.close(writing)
