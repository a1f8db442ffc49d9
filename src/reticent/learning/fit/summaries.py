"""Summary of a fit in words: the numbers its certificate shows, the noise that was paid for, and the guarantee.

    summary(model)    text; everything in it is in the certificate too, so nothing of any row is

Noise is told in multiples of what one person can move, which needs no unit: at half-width 15 the rows of fifteen people
who all say the same hide behind it. It is told by stage, as the proof names stages.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, Protocol

from reticent.certificate.render.listing import folded
from reticent.certificate.summary import TREE
from reticent.learning.fit.odd_rows import BESIDE
from reticent.outcome import Estimate, shown
from reticent.pages.markup import render
from reticent.privacy.explain import sentence
from reticent.privacy.guarantee import Guarantee

if TYPE_CHECKING:
    from reticent.certificate.certificate import Certificate

MOST: Final = 10  # entries of a line, lines of a table, levels of a tree: the certificate has them all
LEVELS: Final = 3
REASON: Final = re.compile(r", as it would be known to no better than ± [^:]*(?=: )")
NAMES: Final = {"half": "half-widths of bounds", "n_iter": "rounds", "n_components": "axes"}
LAPLACE: Final = math.log(20)  # 95 % of Laplace noise lie within so many scales
NORMAL: Final = 1.959963984540054


class FittedModel(Protocol):
    """Model as a summary sees it."""

    guarantee_: Guarantee
    certificate_: Certificate


def summary(model: FittedModel) -> str:
    """Summary of the fit, with its noise and its guarantee."""
    stated = model.certificate_.document["model"]
    columns, found = stated["columns"], stated["released"]
    parts = [("columns", [_line(columns)])]
    parts += [("classes", [_line(found["classes"])])] if "classes" in found else []
    parts += [
        (NAMES.get(name, name.replace("_", " ")), _lines(name, found, columns))
        for name in sorted(found.keys() - {"classes", "incomplete_rows"})
    ]
    parts.append(("noise, 95 %", list(noises(model.guarantee_))))
    wide = max(len(name) for name, _ in parts) + 2
    lines = [
        line
        for name, told in parts
        for place, text in enumerate(told)
        for line in folded(f"{name if not place else '':<{wide}}", text)
    ]
    title = type(model).__name__
    return "\n".join([title, *lines, promise(model)])


def prose(*texts: str) -> str:
    """Sentences as a terminal holds them, each in lines of its own."""
    return "\n".join(line for text in texts for line in folded("", text))


def coefficient_table(rows: Sequence[tuple[str, Estimate]]) -> list[str]:
    """Numbers by name in lines, as a release prints its answers; a dash stands for an interval that is not there."""
    level = next((100 * found.level for _, found in rows), 95)
    table = [("", "coefficient", f"{level:g} % interval", "half-width: noise")]
    for name, found in rows:
        text, told = shown(found), math.isfinite(found.noise)
        table.append((name, text.value, *((f"{text.low} to {text.high}", text.noise) if told else ("–", "–"))))
    first, *wide = (max(map(len, column)) for column in zip(*table, strict=True))
    return [
        "  ".join([f"{row[0]:<{first}}", *(f"{part:>{width}}" for part, width in zip(row[1:], wide, strict=True))])
        for row in table
    ]


def promise(model: FittedModel) -> str:
    """The estimand of a model that replied, the caveats of the certificate, then the guarantee.

    The reason why a share is not told stands in the warning of the fit and in the certificate.
    """
    estimand = getattr(model, "estimand_", "")  # a model that 0.1.0 wrote has none
    told = [f"Estimates: {estimand}."] if estimand else []
    caveats = [REASON.sub("", caveat) for caveat in model.certificate_.caveats]
    return prose(*told, *caveats, sentence(model.guarantee_.loss, model.guarantee_.adjacency))


def page(text: str) -> str:
    """Text as a notebook shows it."""
    return render("text", {"lines": text.split("\n")})


def noises(tree: Guarantee) -> Iterator[str]:
    """A line for each stage and kind of noise in a proof, with the least and the greatest of its half-widths."""
    found: dict[tuple[str, str, str], list[float]] = {}
    for stage, leaf in _leaves(tree):
        width = _width(leaf)
        widths = found.setdefault((stage, leaf.by.name.replace("_", " "), leaf.adjacency.unit), [])
        widths += [] if width is None else [width]
    for (stage, name, unit), widths in list(found.items())[:MOST]:
        ends = dict.fromkeys(f"{end:.3g}" for end in (min(widths), max(widths))) if widths else {}
        size = f"± {' to '.join(ends)} × what one {unit} moves, {name}" if widths else name
        yield f"{stage}: {size}" if stage else size
    if len(found) > MOST:
        yield "…"


def _leaves(tree: Guarantee, stage: str = "") -> Iterator[tuple[str, Guarantee]]:
    """The parts of a proof that have no parts, each with the name of the innermost stage it is in."""
    if not tree.parts:
        yield (tree.label or stage).removeprefix(BESIDE), tree
    for part in tree.parts:
        yield from _leaves(part, tree.label or stage)


def _width(leaf: Guarantee) -> float | None:
    """The half-width of the noise over the sensitivity, where the mechanism adds noise to a number."""
    public = dict(leaf.parameters)
    match leaf.by.name:
        case "geometric":
            return LAPLACE * float(Fraction(public["scale"]) / Fraction(public["sensitivity"]))
        case "gaussian":
            return NORMAL * math.sqrt(Fraction(public["variance"]) / Fraction(public["squared_sensitivity"]))
        case _:
            return None


# --- numbers ----------------------------------------------------------------------------------------------------------


def _lines(name: str, found: Mapping[str, Any], columns: Sequence[str]) -> list[str]:
    """The lines of one thing found: a number, a list, a table, trees, or what a record consists of."""
    value = found[name]
    if not isinstance(value, list) or not value or not isinstance(value[0], list | dict):
        return [_line(value)]
    if isinstance(value[0], dict) and value[0].keys() == TREE:
        return _forest(value, columns)
    if isinstance(value[0], dict):
        return [f"{len(value)} of {_record(value[0])}"]
    if isinstance(value[0][0], list) or len(value) > MOST:
        return [_shape(value)]
    labels = found.get("classes", ())
    rows = labels if len(labels) == len(value) else range(len(value))
    return [f"{row}: {_line(entries)}" for row, entries in zip(rows, value, strict=True)]


def _line(value: object) -> str:
    if isinstance(value, list):
        return ", ".join([*map(_one, value[:MOST]), *(["…"] if len(value) > MOST else [])])
    return _shape(value) if isinstance(value, dict) else _one(value)


def _one(value: object) -> str:
    return f"{value:.5g}" if isinstance(value, float) else "missing" if value is None else str(value)


def _sizes(value: object) -> list[int]:
    """The lengths of a list of lists; of a large array, of which a certificate has the digest, those it states."""
    if isinstance(value, dict):
        return list(value.get("shape", ()))
    return [len(value), *_sizes(value[0] if value else None)] if isinstance(value, list) else []


def _shape(value: object) -> str:
    """``5 × 5 numbers``."""
    sizes = _sizes(value)
    return f"{' × '.join(map(str, sizes))} numbers" if sizes else _one(value)


def _record(value: Mapping[str, object]) -> str:
    """Parts of the record, without the proof, whose last line stands below."""
    return ", ".join(f"{name} {_shape(part)}" for name, part in value.items() if name != "guarantee")


def _forest(trees: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> list[str]:
    """One tree as it stands, of its first levels; of several how many and how large they are."""
    inner, leaves = (_sizes(trees[0][name])[0] for name in ("column", "counts"))
    if len(trees) > 1 or inner >= 2**LEVELS:
        return [f"{len(trees)} of {inner} splits and {leaves} leaves each"]
    return list(_nodes(trees[0], 0, columns))


def _nodes(tree: Mapping[str, Any], node: int, columns: Sequence[str], deep: int = 0) -> Iterator[str]:
    inner = len(tree["column"])
    if node >= inner:
        yield f"{'  ' * deep}noisy counts {_line(tree['counts'][node - inner])}"
        return
    name, threshold = columns[tree["column"][node]], _one(tree["threshold"][node])
    for side, words in enumerate(("<=", "> ")):
        yield f"{'  ' * deep}{name} {words} {threshold}"
        yield from _nodes(tree, 2 * node + 1 + side, columns, deep + 1)


__all__ = ["coefficient_table", "noises", "page", "promise", "summary"]
