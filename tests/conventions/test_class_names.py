"""Names of classes: a noun of the field each, and no two classes of the package share one."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from tests.conventions.tree import Module, modules, parsed

KEPT = {
    "Above": "an answer that sessions print",
    "Below": "an answer that sessions print",
    "Checked": "an answer that sessions print, and their certificates hold as printed",
    "Between": "a public question of `reticent.learning`",
    "Clipped": "a public method, which a text spells `clipped`",
    "Replayed": "the entropy that tests and recipes name",
    **dict.fromkeys(
        (
            "Amended",
            "Checkpointed",
            "Closed",
            "Committed",
            "Described",
            "Failed",
            "Migrated",
            "Opened",
            "Refused",
            "Reserved",
        ),
        "an event of a ledger, whose file spells this word",
    ),
}
NO_NOUNS = frozenset(
    """
    About Above Afresh After Again Ahead Along Also Among Another Around Aside At Away Before Behind Below
    Beside Between Beyond Both Bought Brought Built Chosen Cut Deep Done Down Drawn Each Early Else Everything
    Far Finite Fixed For Found Further Given Gone Grown Heard Held Here High In Inner Its Kept Known Late Least
    Left Less Long Lost Low Lower Made Many Meant Met More Most Narrow Near Nothing Off On Only Open Other Out
    Outer Over Own Paid Plain Present Private Public Put Ran Read Rung Said Seen Sent Set Short Shown Shut Small
    Smooth Some Sought Sparse Spent Split Spoken Stood Such Sufficient Sure Taken That There These This Those
    Thought Together Told Under Up Upper Warm Wide Within Without Written
    """.split()  # noqa: SIM905 - a list of words
)
NOUNS = frozenset({"Bed", "Need", "Seed", "Speed"})  # end as participles do


def classes(module: Module) -> list[str]:
    return [node.name for node in module.tree.body if isinstance(node, ast.ClassDef)]


def shared(of: Iterable[Module]) -> dict[str, list[str]]:
    """Names that several classes bear, with their files."""
    found: dict[str, list[str]] = {}
    for module in of:
        for name in classes(module):
            found.setdefault(name, []).append(module.path)
    return {name: files for name, files in found.items() if len(files) > 1}


def no_noun(name: str) -> bool:
    """True for one word that is a participle, a pronoun, an adverb or a preposition."""
    word = name.lstrip("_")
    one = word[1:].islower()
    return one and (word in NO_NOUNS or (word.endswith("ed") and word not in NOUNS))


def test_no_two_classes_share_a_name() -> None:
    assert shared(modules()) == {}


def test_a_class_bears_a_noun() -> None:
    found = {name: module.path for module in modules() for name in classes(module) if no_noun(name)}
    assert {name: path for name, path in found.items() if name not in KEPT} == {}


def test_every_exception_is_still_one() -> None:
    there = {name for module in modules() for name in classes(module)}
    assert set(KEPT) == {name for name in there if no_noun(name)}


def test_a_shared_name_and_a_participle_are_found() -> None:
    one, other = parsed("one.py", "class Plan: ..."), parsed("other.py", "class Plan: ...\nclass Told: ...")
    assert shared([one, other]) == {"Plan": ["one.py", "other.py"]}
    assert [name for name in ("Told", "_Found", "Grouped", "Plan", "PaddedSums", "Speed", "L1") if no_noun(name)] == [
        "Told",
        "_Found",
        "Grouped",
    ]
