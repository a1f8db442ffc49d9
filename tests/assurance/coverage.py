"""Every mechanism, session and estimator of this version, and how a report checked it: a new one is seen, not skipped.

A mechanism is checked by the specimens its module states, in the exact laws and in the kit. ``WITHOUT`` names those
whose module states none, with the lines of the exact report and the tests that stand for them. A session or an
estimator is replayed on made-up neighbours (``models``), by every way there is of opening or fitting it; ``UNREPLAYED``
names those that are not, with what stands for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Final

from reticent import learning
from reticent.mechanisms import registry, shuffled_response, subsampling
from tests.assurance import models, session_replay
from tests.assurance.claims import Line

HEADS: Final = ("mechanism", "exact laws", "kit", "elsewhere")
NONE: Final = "–"
WITHOUT: Final[dict[str, tuple[str, str]]] = {
    "one_sided": (
        "mechanism one-sided coin",
        "at ε 0 there is no smaller ε at which the kit could fail it: tests/audit/test_survey_exact.py",
    ),
    "sparse_vector": (
        "mechanism sparse vector",
        "longer and adaptive conversations: tests/laws/test_sparse_vector.py",
    ),
    "privtree": ("", "the laws of all small trees, and of trees that are drawn: tests/laws/test_privtree.py"),
    "subsampling": ("", "a wrapper of others that draws who takes part: tests/statistics/test_subsampling.py"),
    "shuffled_response": ("", "a wrapper of others that shuffles answers: tests/statistics/test_subsampling.py"),
}
LEARNED_HEADS: Final = ("session or estimator", "ways", "pairs of tables", "elsewhere")
UNREPLAYED: Final[dict[str, str]] = {
    "Clip": "learns nothing and charges nothing: tests/unit/test_learning_estimators.py",
}
SESSIONS: Final = ("holdout", "sparse vector", "leaderboard", "noisy answers")
NO_MODELS: Final = ("Accuracy", "Between", "Level", "Product")  # questions of sessions
MODULES: Final[tuple[ModuleType, ...]] = (*registry.ALL, subsampling, shuffled_response)


def rows(exact: Sequence[Line] | None, kit: Sequence[str] | None) -> list[tuple[str, ...]]:
    """A line for each mechanism: claims in the exact laws, cases in the kit, and what else checks it.

    Parameters
    ----------
    exact, kit
        Lines of the exact laws, and cases the kit went through; None where that part was not run.
    """
    found: list[tuple[str, ...]] = []
    for module in MODULES:
        name = module.__name__.rpartition(".")[2]
        begin, elsewhere = WITHOUT.get(name, ("", NONE))
        titles = set() if name in WITHOUT else {specimen.name for specimen in module.SPECIMENS}
        wanted = {f"mechanism {title}" for title in titles}
        claims = [line for line in exact or () if line.name in wanted or (begin and line.name.startswith(begin))]
        cases = [case for case in kit or () if case in titles]
        found.append((name.replace("_", " "), _told(exact, len(claims)), _told(kit, len(cases)), elsewhere))
    return found


def _told(part: object, count: int) -> str:
    return "not run" if part is None else str(count) if count else NONE


def learned(pairs: Mapping[str, int] | None) -> list[tuple[str, ...]]:
    """A line for each session and each estimator: in how many ways it was replayed, on how many pairs of tables.

    Parameters
    ----------
    pairs
        Of each session and fit, by its name; None where they were not run.
    """
    ways = [talk.name for talk in session_replay.built_in()] + [fit.name for fit in models.built_in()]
    found: list[tuple[str, ...]] = []
    for name in (*SESSIONS, *estimators()):
        mine = [way for way in ways if way.split(",")[0].startswith(name)]
        seen = sum((pairs or {}).get(way, 0) for way in mine)
        found.append((name, str(len(mine)) if mine else NONE, _told(pairs, seen), UNREPLAYED.get(name, NONE)))
    return found


def estimators() -> list[str]:
    """Every estimator of ``reticent.learning`` by name."""
    public = {name: getattr(learning, name) for name in learning.__all__ if name not in NO_MODELS}
    return sorted(name for name, value in public.items() if hasattr(value, "fit"))
