"""Extensions: statistics and mechanisms of third parties, in modules that a caller passes by hand.

    STATISTICS = (RangeCount,)     classes, made as ``statistics.registry`` has them
    MECHANISMS = (staircase,)      modules with AXIOMS and SPECIMENS, made as ``mechanisms.registry`` has them; with
                                   ``on_integers`` one is noise for mechanism=staircase
    __version__ = "1.0"            stands in every certificate, beside the name of the module

Nothing is registered: the extensions of a study are a tuple of values, handed down to whatever reads a question or
derives a loss again. A module is never looked up by a name that a file or a certificate states; its caller imports it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from inspect import isabstract
from types import ModuleType
from typing import Final

from reticent.errors import CheckError, PublicParameterError, QuestionError
from reticent.mechanisms import registry
from reticent.mechanisms.gate import Again, Axioms
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.rederivation import COMBINATORS, rederive
from reticent.statistics.context import OnIntegers
from reticent.statistics.grammar import synonyms
from reticent.statistics.registry import KINDS
from reticent.statistics.statistic import Ask, Statistic, ours

NAME: Final = r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*"
VERSION: Final = r"[0-9A-Za-z.+!_-]{1,60}"
LONGEST: Final = 200  # characters of a name
OURS: Final = "reticent"


@dataclass(frozen=True, slots=True)
class Extension:
    """Module of a third party: its name and version, its statistics, and the modules of its mechanisms."""

    name: str
    version: str
    statistics: tuple[type[Statistic], ...]
    mechanisms: tuple[ModuleType, ...]

    @classmethod
    def of(cls, module: ModuleType) -> Extension:
        """The extension that a module states.

        Raises
        ------
        PublicParameterError
            It is no module, has no version, states nothing, or lists what is no statistic or no mechanism.
        """
        if not isinstance(module, ModuleType):
            raise PublicParameterError(f"an extension is an imported module, got {type(module).__name__}")
        name, version = module.__name__, getattr(module, "__version__", None)
        if len(name) > LONGEST or not re.fullmatch(NAME, name) or name.partition(".")[0] == OURS:
            raise PublicParameterError(f"'{name[:LONGEST]}' cannot be the name of an extension")
        if not isinstance(version, str) or not re.fullmatch(VERSION, version):
            raise PublicParameterError(f'{name} states no version, which certificates need: __version__ = "1.0"')
        statistics, listed = (_listed(module, word) for word in ("STATISTICS", "MECHANISMS"))
        own = (module, *listed) if hasattr(module, "AXIOMS") and module not in listed else listed
        if not statistics and not own:
            raise PublicParameterError(f"{name} states no STATISTICS and no MECHANISMS: it extends nothing")
        return cls(
            name,
            version,
            tuple(_statistic(name, kind) for kind in statistics),
            tuple(_mechanism(name, one) for one in own),
        )

    @property
    def axioms(self) -> Axioms:
        """Every theorem that its mechanisms state, and its restatement."""
        return tuple(pair for module in self.mechanisms for pair in module.AXIOMS)

    @property
    def on_integers(self) -> Mapping[str, OnIntegers]:
        """Makers of noise for integers, by the last word of the name of their module."""
        found = {module.__name__.rpartition(".")[2]: getattr(module, "on_integers", None) for module in self.mechanisms}
        return {word: made for word, made in found.items() if made is not None}

    @property
    def title(self) -> str:
        """Name and version."""
        return f"{self.name} {self.version}"

    def __reduce__(self) -> tuple[Callable[[str], Extension], tuple[str]]:
        return _imported, (self.name,)


def _imported(name: str) -> Extension:
    """The extension of a pickle, as pickles hold classes: by the name of its module."""
    return Extension.of(import_module(name))


def _listed(module: ModuleType, word: str) -> tuple[object, ...]:
    found = getattr(module, word, ())
    if not isinstance(found, tuple):
        raise PublicParameterError(f"{word} of {module.__name__} is a tuple that is written out")
    return found


def _statistic(name: str, kind: object) -> type[Statistic]:
    if not (isinstance(kind, type) and issubclass(kind, Statistic)) or isabstract(kind) or "verb" not in vars(kind):
        raise PublicParameterError(f"STATISTICS of {name} has {kind!r}, which is no statistic")
    verb, examples = kind.verb, getattr(kind, "examples", ())
    if not (isinstance(verb, str) and re.fullmatch(r"[a-z_]+", verb) and isinstance(examples, tuple) and examples):
        raise PublicParameterError(f"{kind.__name__} of {name} needs a verb in small letters, and examples")
    return kind


def _mechanism(name: str, module: object) -> ModuleType:
    if not isinstance(module, ModuleType) or not isinstance(getattr(module, "AXIOMS", None), tuple):
        raise PublicParameterError(f"MECHANISMS of {name} has {module!r}, which is no module with AXIOMS")
    return module


# --- several ----------------------------------------------------------------------------------------------------------


def read_extensions(modules: Iterable[ModuleType | Extension]) -> tuple[Extension, ...]:
    """The extensions of modules, no two of which use one word for two things.

    Raises
    ------
    PublicParameterError
        For what ``Extension.of`` refuses, and for a verb or a theorem that is taken: by this package, or by another.
    """
    if isinstance(modules, ModuleType | str):
        raise PublicParameterError("extensions are a list of imported modules: extensions=[module]")
    found = tuple(one if isinstance(one, Extension) else Extension.of(one) for one in modules)
    if not found:
        return found
    verbs: dict[str, str] = dict.fromkeys((*KINDS, *synonyms()), OURS)
    noises = {module.__name__.rpartition(".")[2]: OURS for module in registry.ALL}
    theorems = dict.fromkeys(COMBINATORS, OURS)
    if any(one.mechanisms for one in found):
        theorems |= {theorem.name: OURS for module in registry.ALL for theorem, _ in module.AXIOMS}
    names: dict[str, str] = {}
    for one in found:
        _take(names, "module", one.name, one.name)
        for kind in one.statistics:
            for word in (kind.verb, *kind.synonyms):
                _take(verbs, "statistic", word, one.name)
        for word in one.on_integers:
            _take(noises, "mechanism", word, one.name)
        for theorem, _ in one.axioms:
            _take(theorems, "theorem", theorem.name, one.name)
    return found


def _take(taken: dict[str, str], what: str, word: str, name: str) -> None:
    if word in taken:
        raise PublicParameterError(f"the {what} '{word}' of {name} has a name that {taken[word]} uses already")
    taken[word] = name


def kinds_of(extensions: Sequence[Extension]) -> Mapping[str, type[Statistic]]:
    """Every statistic that a text may name, by its verb."""
    return {**KINDS, **{kind.verb: kind for one in extensions for kind in one.statistics}} if extensions else KINDS


def check_known(statistic: Statistic, extensions: Sequence[Extension]) -> None:
    """Refuse a statistic of a module that the study was not given: its certificate could not name the module."""
    kind = type(statistic)
    if not ours(statistic) and not any(kind in one.statistics for one in extensions):
        raise QuestionError(
            f"{statistic.verb} is a statistic of {kind.__module__}, which this study was not given. Open it with "
            f"extensions=[{kind.__module__}]. Nothing was charged."
        )


def used_in(extensions: Sequence[Extension], asked: Sequence[Ask], tree: Guarantee) -> tuple[Extension, ...]:
    """The extensions that answer one of the questions, or prove a part of the tree.

    Parameters
    ----------
    extensions : sequence of Extension
    asked : sequence of Ask
        Questions of the release.
    tree : Guarantee
        Its proof.

    Returns
    -------
    tuple of Extension
    """
    kinds, theorems = {type(one.statistic) for one in asked}, _theorems(tree) if extensions else set()
    return tuple(
        one
        for one in extensions
        if kinds.intersection(one.statistics) or any(theorem.name in theorems for theorem, _ in one.axioms)
    )


def _theorems(tree: Guarantee) -> set[str]:
    return {tree.by.name}.union(*(_theorems(part) for part in tree.parts))


def to_json(extensions: Sequence[Extension]) -> list[dict[str, object]]:
    """Name, version, statistics and theorems of each, for a certificate."""
    return [
        {
            "module": one.name,
            "version": one.version,
            "statistics": [kind.verb for kind in one.statistics],
            "theorems": [theorem.name for theorem, _ in one.axioms],
        }
        for one in extensions
    ]


def caveats_of(extensions: Sequence[Extension], asked: Sequence[Ask]) -> Iterator[str]:
    """A line for each extension that answers: who wrote what was computed."""
    for one in extensions:
        verbs = dict.fromkeys(ask.statistic.verb for ask in asked if type(ask.statistic) in one.statistics)
        what = f"{', '.join(verbs)}: " if verbs else "noise of this release: "
        yield f"{what}by {one.title}, an extension that is no part of reticent"


def axioms_of(extensions: Sequence[Extension]) -> Callable[[Guarantee], Guarantee]:
    """The function that states a stored leaf again: by an extension where it is one's, else by this package."""

    def axiom_again(leaf: Guarantee) -> Guarantee:
        for one in extensions:
            for theorem, again in one.axioms:
                if theorem.name == leaf.by.name:
                    return _again(one, again, leaf)
        return registry.axiom_again(leaf)

    return axiom_again


def _again(extension: Extension, again: Again, leaf: Guarantee) -> Guarantee:
    """A leaf by the code of a third party: whatever it raises is a failed check and nothing else."""
    try:
        made = again(dict(leaf.parameters), leaf.adjacency)
    except Exception:
        made = None
    if not isinstance(made, Guarantee) or made.by.name != leaf.by.name or made.parts:
        raise CheckError(f"{extension.title} does not state '{leaf.label or leaf.by.name}' again from its numbers")
    return made


def check_derivable(whole: Guarantee, used: Sequence[Extension]) -> None:
    """Refuse a proof that an extension has a part in and that ``verify`` could not derive again.

    Raises
    ------
    QuestionError
        Before rows are read: the certificate would be worth nothing.
    """
    if not used:
        return
    try:
        derived = rederive(whole, axioms_of(used))
    except (CheckError, PublicParameterError, ValueError, ArithmeticError, LookupError) as problem:
        said = f"The proof of this release cannot be derived again: {problem}. Nothing was charged."
        raise QuestionError(said) from None
    if derived != whole.loss:
        raise QuestionError("The proof of this release costs another loss when derived again. Nothing was charged.")


__all__ = [
    "Extension",
    "axioms_of",
    "caveats_of",
    "check_derivable",
    "check_known",
    "kinds_of",
    "read_extensions",
    "to_json",
    "used_in",
]
