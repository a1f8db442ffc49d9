"""Propose-Test-Release: what a proposed noise, its private test and the release behind it cost together.

    PtrStep        propose, test, then release or no reply; not a guarantee: its input may itself depend on the rows
    cascade        levels of steps, each level replying with its first reply, fed by the level before   Theorem 29
    parallel       several cascades side by side                                        Corollaries 32 and 35
    in_stages      parallel compositions, each fed by the one before                    Theorem 37
    first_reply    one level whose steps release one law, the step that replied not shown          tight
    one_test       one test on the greatest of several distances, one law released                 tight

General composition (Theorem 27) is ``compose.in_sequence``: it also chains the tight levels. Each step may read the
table, or a table drawn from it by coins that do not depend on the rows (``PtrStep.table``).

Sources: 003 sections 8 and 9. Proofs, for unequal losses: docs/proofs/ptr.md. Deviations: 003 charges every step of a
level one test more than needed if the step that replied stays hidden. S therefore costs 2 eps in place of 3, and M 4 in
place of 6. R_H as printed is no PTR function (its test has sensitivity 2, its release p coordinates): ``as_declared``
refuses it, and its cost is computed from its noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, Literal, NoReturn, TypeAlias, assert_never, get_args

from reticent.errors import CheckError, PublicParameterError
from reticent.exact.rounding import exp_down, exp_up, round_up
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.compose import SEQUENCE, in_sequence
from reticent.privacy.guarantee import Guarantee, Theorem
from reticent.privacy.loss import ApproxDP, Loss, PureDP
from reticent.privacy.numbers import exact, positive, read, show

LEVEL: Final = Theorem(
    "ptr_level",
    "first reply of J steps, which one may be seen: the tests up to it and its release; deltas add",
    "Dwork and Lei 2009, Theorem 29 with K = 1; docs/proofs/ptr.md",
)
CASCADE: Final = Theorem(
    "ptr_cascade", "K levels, each fed by the one before: levels add", "Dwork and Lei 2009, Theorem 29"
)
GENERAL_CASCADE: Final = Theorem(
    "ptr_general_cascade",
    "K levels on tables that stay neighbours: levels add",
    "Dwork and Lei 2009, Definition 33 and Corollary 35",
)
PARALLEL: Final = Theorem("ptr_parallel", "cascades side by side: they add", "Dwork and Lei 2009, Corollary 32")
GENERAL_PARALLEL: Final = Theorem(
    "ptr_general_parallel",
    "cascades side by side on tables that stay neighbours: they add",
    "Dwork and Lei 2009, Corollary 35",
)
STAGES: Final = Theorem(
    "ptr_stages", "parallel compositions, each fed by the one before: they add", "Dwork and Lei 2009, Theorem 37"
)
FIRST_REPLY: Final = Theorem(
    "ptr_first_reply",
    "first reply of J steps that release one law, which one unseen: max(dearest test + release, all tests)",
    "docs/proofs/ptr.md; replaces Dwork and Lei 2009, Theorem 29",
)
ONE_TEST: Final = Theorem(
    "ptr_one_test",
    "one test on the greatest distance, then one law released: test + release",
    "docs/proofs/ptr.md",
)

Table: TypeAlias = Literal["same", "partition", "subsample"]
Shown: TypeAlias = Literal["value", "value and step"]

NOT_A_GUARANTEE: Final = (
    "A propose-test-release step is not a guarantee: its input may depend on the rows. "
    "Make one of it with cascade, first_reply or one_test."
)
NOISE: Final = "geometric"  # the only test noise whose tail is computed here
FARTHEST: Final = 700  # noise scales: a reply there has probability below 1e-300


@dataclass(frozen=True, slots=True)
class PtrStep:
    """Propose, test, release: for every input fixed in advance (003 Definition 24, with unequal losses).

    P(no reply) and P(reply) change by at most e^test between neighbours. If the proposal is safe, replies change by at
    most e^(test + release). If it is not, P(reply) <= delta.

    Attributes
    ----------
    test, release : Fraction
        Losses of the test (> 0) and of the release behind it (>= 0; zero for what is the same for all neighbours
        whenever the proposal is safe).
    delta : Fraction
        Greatest probability of a reply where the proposal is unsafe, in [0, 1).
    neighbours : Adjacency
        Neighbours of the whole table.
    table : "same" | "partition" | "subsample"
        What the step reads: the table; one record per block of a random partition; a random subsample without
        replacement. The coins do not depend on the rows, so substituting one row substitutes at most one record.
    law : str
        Name of the law released, where it does not depend on which step replies; empty where it does.
    margin : int or None
        Replies come from noisy distances at least ``margin`` beyond the greatest unsafe one; None if declared.
    parts : tuple of Guarantee
        Guarantees of the noisy distance and of the release (where it has noise of its own), from which the losses
        are computed; empty if declared.
    """

    test: Fraction
    release: Fraction
    delta: Fraction
    neighbours: Adjacency
    label: str = ""
    table: Table = "same"
    law: str = ""
    margin: int | None = None
    parts: tuple[Guarantee, ...] = ()

    def __post_init__(self) -> None:
        positive(self.test, "test")
        for name, number in (("release", self.release), ("delta", self.delta)):
            if exact(number, name) < 0:
                raise PublicParameterError(f"{name} must be >= 0, got {show(number)}")
        if self.delta >= 1:
            raise PublicParameterError(f"delta must be < 1, got {show(self.delta)}")
        if self.table not in get_args(Table):
            raise PublicParameterError(
                'table must be "same", "partition" or "subsample" (without replacement): '
                "in a table drawn otherwise one row may change several records"
            )
        if self.table != "same" and (self.neighbours.kind != "substitute" or self.neighbours.rows != 1):
            raise PublicParameterError(
                "with the same coins, a partition or a subsample stays a neighbour only where one row each is replaced"
            )
        if (self.margin is None) != (self.parts == ()):
            raise PublicParameterError("a step has both a margin and the guarantees of its noise, or neither")
        if self.margin is not None and (self.test, self.release, self.delta) != _of_noise(self.parts, self.margin):
            raise PublicParameterError("the losses of this step do not follow from its noise")
        if any(part.adjacency != self.neighbours for part in self.parts):
            raise PublicParameterError("test, release and step speak of different neighbours")

    @property
    def loss(self) -> NoReturn:
        """Refused: only a guarantee has a loss that can be charged."""
        raise PublicParameterError(NOT_A_GUARANTEE)

    @property
    def adjacency(self) -> NoReturn:
        """Refused: composition asks a guarantee for its neighbours."""
        raise PublicParameterError(NOT_A_GUARANTEE)

    @property
    def by(self) -> NoReturn:
        """Refused: no theorem makes a step."""
        raise PublicParameterError(NOT_A_GUARANTEE)


def declared(
    epsilon: Fraction, delta: Fraction, neighbours: Adjacency, *, label: str = "", table: Table = "same", law: str = ""
) -> PtrStep:
    """Declare an (epsilon, delta)-PTR function (003 Definition 24): epsilon for the test, as much for the release.

    Conclusions from it are theorems about steps *declared* so; ``declarations`` finds them in a tree.

    Parameters
    ----------
    epsilon : Fraction
        Loss of the test, and of the release behind it; > 0.
    delta : Fraction
        Greatest probability of a reply where the proposal is unsafe, in [0, 1).
    neighbours : Adjacency
        Neighbours of the whole table.
    label : str
        Name of the step in a proof tree.
    table : "same" | "partition" | "subsample"
        What the step reads, as for ``PtrStep``.
    law : str
        Name of the released law, if it is the same for every step that may reply.

    Returns
    -------
    PtrStep
        Without parts, since nothing is computed.
    """
    return PtrStep(epsilon, epsilon, delta, neighbours, label, table, law)


def measured(
    test: Guarantee, release: Guarantee | None, *, margin: int, label: str = "", table: Table = "same", law: str = ""
) -> PtrStep:
    """A step whose losses are computed from its noise.

    Parameters
    ----------
    test : Guarantee
        Of the noisy distance A + Z: a geometric mechanism with the sensitivity that the distance really has.
    release : Guarantee or None
        Of the release where the proposal is safe; None for what is then the same for all neighbours.
    margin : int
        The step replies iff A + Z >= u + margin, where the proposal is unsafe iff A <= u; at least 0.
    label : str
        Name of the step in a proof tree.
    table : "same" | "partition" | "subsample"
        What the step reads, as for ``PtrStep``.
    law : str
        Name of the released law, if it is the same for every step that may reply.

    Returns
    -------
    PtrStep
        With the guarantees of its parts.
    """
    parts = (test,) if release is None else (test, release)
    return PtrStep(*_of_noise(parts, margin), test.adjacency, label, table, law, margin, parts)


def as_declared(step: PtrStep, epsilon: Fraction) -> PtrStep:
    """``step`` as an (epsilon, delta)-PTR function, where its noise makes it one.

    Raises
    ------
    PublicParameterError
        Where the test costs more than epsilon (003 (28)) or a reply more than 2 epsilon (003 (29)).
    """
    positive(epsilon, "epsilon")
    if step.test > epsilon:
        raise PublicParameterError(
            f"this is no PTR function at ε {show(epsilon)}: its test costs {show(step.test)}. "
            "Is the noise scaled to the sensitivity of the distance?"
        )
    if step.test + step.release > 2 * epsilon:
        raise PublicParameterError(
            f"this is no PTR function at ε {show(epsilon)}: a reply costs {show(step.test + step.release)}, "
            f"more than {show(2 * epsilon)}"
        )
    return declared(epsilon, step.delta, step.neighbours, label=step.label, table=step.table, law=step.law)


def reply_chance(scale: Fraction, margin: int) -> Fraction:
    """At or above P(Z >= margin) = a^margin / (1 + a), a = e^(-1/scale), for two-sided geometric noise Z."""
    rate = 1 / positive(scale, "scale")
    if isinstance(margin, bool) or not isinstance(margin, int) or margin < 0:
        raise PublicParameterError(f"margin must be an integer >= 0, got {margin}")
    if margin * rate > FARTHEST:
        raise PublicParameterError(f"a margin beyond {FARTHEST} noise scales is a slip")
    return round_up(exp_up(-margin * rate) / (1 + (exp_down(-rate) if rate <= FARTHEST else 0)))


def least_margin(scale: Fraction, delta: Fraction) -> int:
    """The least margin at which an unsafe proposal is answered with probability at most ``delta`` in (0, 1)."""
    if not 0 < exact(delta, "delta") < 1:
        raise PublicParameterError(f"delta must lie between 0 and 1, got {show(delta)}")
    width = float(positive(scale, "scale"))
    logarithm = math.log(delta.numerator) - math.log(delta.denominator)
    nearly = math.ceil(-width * (logarithm + math.log1p(math.exp(-1 / width))))
    margin = max(0, nearly - 1)  # one below, so that rounding in floats cannot pass the least
    while reply_chance(scale, margin) > delta:
        margin += 1
    return margin


def cascade(levels: Sequence[Sequence[PtrStep]], *, label: str = "") -> Guarantee:
    """Levels of steps; a level replies with its first reply and feeds the next one. The steps may be seen to reply.

    A level costs the most, over the step that replies, of the tests up to it and its release; levels add. With
    equal losses eps that is (K + sum J_k) eps and sum J_k delta (003 Theorem 29). Several proposals of noise in turn,
    each with its own magnitude, are one level.
    """
    if not levels:
        raise PublicParameterError("a cascade needs at least one level")
    return _cascade_of([_level(steps, label if len(levels) == 1 else "") for steps in levels], label)


def parallel(cascades: Sequence[Guarantee], *, label: str = "") -> Guarantee:
    """Cascades side by side, with coins of their own but for those that drew their tables: their losses add.

    003 Corollary 32 on one table, Corollary 35 where a step reads a table drawn from it.
    """
    return _side_by_side(cascades, GENERAL_PARALLEL if _drawn(cascades) else PARALLEL, label)


def in_stages(stages: Sequence[Guarantee], *, label: str = "") -> Guarantee:
    """Parallel compositions, each fed by the one before: their losses add (003 Theorem 37)."""
    return _side_by_side(stages, STAGES, label)


def first_reply(steps: Sequence[PtrStep], *, shown: Shown, label: str = "") -> Guarantee:
    """Guarantee of one level whose steps release the same law.

    Parameters
    ----------
    steps : sequence of PtrStep
        The steps in their order, at least one; the first that replies ends the level.
    shown : "value" | "value and step"
        Whether anything, running time included, tells which step replied. If so the level costs what ``cascade``
        says. If not, a reply costs the dearest test and one release, and no reply all tests.
    label : str
        Name of the level in a proof tree.

    Returns
    -------
    Guarantee
        Of the whole level, an epsilon and a delta.

    Raises
    ------
    PublicParameterError
        Where the laws released differ: then the value may tell which step replied.
    """
    _check_level(steps)
    first = steps[0]
    if any((step.law, step.table, step.release) != (first.law, first.table, first.release) for step in steps):
        raise PublicParameterError("the steps release different laws, so a value may tell which one replied: cascade")
    _check_one_law(first)
    match shown:
        case "value and step":
            return cascade([steps], label=label)
        case "value":
            tests = [step.test for step in steps]
            epsilon = max(max(tests) + first.release, sum(tests, Fraction(0)))
            return _leveled(steps, epsilon, FIRST_REPLY, label)
        case _:
            assert_never(shown)


def one_test(step: PtrStep, *, label: str = "") -> Guarantee:
    """One test on the greatest of several distances, then a release whose law does not depend on which one it was.

    The maximum moves no further than each distance and is unsafe only where all are, so it is one step.
    """
    _check_one_law(step)
    return _leveled([step], step.test + step.release, ONE_TEST, label)


def declarations(tree: Guarantee) -> tuple[str, ...]:
    """Labels of the steps in ``tree`` that were declared and not computed from their noise."""
    own = tuple(step.label for step in _steps(tree) if step.margin is None) if tree.by.name in _OF_STEPS else ()
    return sum((declarations(part) for part in tree.parts), own)


def chargeable(tree: Guarantee) -> Guarantee:
    """``tree`` itself, where every step in it was computed from its noise.

    Raises
    ------
    PublicParameterError
        For a step that was only declared: what follows from a declaration is a theorem, not a promise to anyone.
    """
    if not isinstance(tree, Guarantee):
        raise PublicParameterError(NOT_A_GUARANTEE if isinstance(tree, PtrStep) else "only a guarantee is charged")
    names = [name or "a step" for name in declarations(tree)]
    if names:
        raise PublicParameterError(
            f"{', '.join(names)}: only declared propose-test-release. A release needs its losses computed from its "
            "noise: make the step with measured."
        )
    return tree


def again(tree: Guarantee) -> Guarantee:
    """The node made again from its parts, for ``rederivation.rederive``, which compares the losses.

    Raises
    ------
    CheckError
        Where the parts cannot have made a node with this theorem, these numbers and these neighbours.
    """
    try:
        made = _made(tree)
    except (PublicParameterError, ValueError, IndexError):
        raise CheckError(f"'{tree.label or tree.by.name}' does not follow from its parts") from None
    if (made.by.name, made.adjacency, made.parameters) != (tree.by.name, tree.adjacency, tree.parameters):
        raise CheckError(f"'{tree.label or tree.by.name}' does not follow from its parts")
    return made


_OF_STEPS: Final = (LEVEL.name, FIRST_REPLY.name, ONE_TEST.name)
_OF_LEVELS: Final = (CASCADE.name, GENERAL_CASCADE.name)
_OF_CASCADES: Final = (PARALLEL.name, GENERAL_PARALLEL.name)
NAMES: Final = (*_OF_STEPS, *_OF_LEVELS, *_OF_CASCADES, STAGES.name)


def _made(tree: Guarantee) -> Guarantee:
    match tree.by.name:
        case LEVEL.name:
            return _level(_steps(tree), tree.label)
        case FIRST_REPLY.name:
            return first_reply(_steps(tree), shown="value", label=tree.label)
        case ONE_TEST.name:
            (step,) = _steps(tree)
            return one_test(step, label=tree.label)
        case CASCADE.name | GENERAL_CASCADE.name:
            return _cascade_of(tree.parts, tree.label)
        case PARALLEL.name | GENERAL_PARALLEL.name:
            return parallel(tree.parts, label=tree.label)
        case STAGES.name:
            return in_stages(tree.parts, label=tree.label)
        case other:
            raise PublicParameterError(f"'{other}' is no theorem about steps")


def _of_noise(parts: tuple[Guarantee, ...], margin: int) -> tuple[Fraction, Fraction, Fraction]:
    """Losses of test and release, and the chance of a reply where unsafe."""
    if parts[0].by.name != NOISE:
        raise PublicParameterError("the noise of a test is geometric: only its tail is known here")
    epsilons = [part.loss.epsilon for part in parts if isinstance(part.loss, PureDP)]
    if len(parts) > 2 or len(epsilons) < len(parts):
        raise PublicParameterError("test and release of a step are pure: its δ is the chance of an unsafe reply")
    release = epsilons[1] if len(parts) == 2 else Fraction(0)
    return epsilons[0], release, reply_chance(read(parts[0].parameter("scale"), "scale"), margin)


def _check_level(steps: Sequence[PtrStep]) -> None:
    if not steps:
        raise PublicParameterError("a level needs at least one step")
    for step in steps:
        if step.neighbours != steps[0].neighbours:
            raise PublicParameterError(
                f"steps speak of different neighbours: {steps[0].neighbours.words()} and {step.neighbours.words()}"
            )


def _check_one_law(step: PtrStep) -> None:
    if not step.law:
        raise PublicParameterError("name the law released: this count is right only where no step has one of its own")


def _level(steps: Sequence[PtrStep], label: str) -> Guarantee:
    _check_level(steps)
    tests = worst = Fraction(0)
    for step in steps:
        tests += step.test
        worst = max(worst, tests + step.release)  # at the last step at least all tests, the cost of no reply
    return _leveled(steps, worst, LEVEL, label)


def _leveled(steps: Sequence[PtrStep], epsilon: Fraction, by: Theorem, label: str) -> Guarantee:
    delta = sum((step.delta for step in steps), Fraction(0))
    loss: Loss = ApproxDP(epsilon, delta) if delta else PureDP(epsilon)
    parts = tuple(part for step in steps for part in step.parts)
    fields = [pair for index, step in enumerate(steps) for pair in _fields(index, step)]
    return Guarantee(loss, steps[0].neighbours, by, parts, tuple(sorted(fields)), label)


def _fields(index: int, step: PtrStep) -> list[tuple[str, str]]:
    """A step as parameters of its level; what its parts tell is not said twice."""
    fields = {"label": step.label, "table": step.table, "law": step.law}
    if step.margin is None:
        fields |= {"test": show(step.test), "release": show(step.release), "delta": show(step.delta)}
    else:
        fields |= {"margin": str(step.margin), "parts": str(len(step.parts))}
    return [(f"step {index} {name}", text) for name, text in fields.items()]


def _steps(tree: Guarantee) -> list[PtrStep]:
    """The steps of a level, from its parameters and parts."""
    texts, parts, steps = dict(tree.parameters), list(tree.parts), list[PtrStep]()
    while f"step {len(steps)} table" in texts:
        name = f"step {len(steps)} "
        found = {key.removeprefix(name): texts.pop(key) for key in list(texts) if key.startswith(name)}
        table = _table(found.get("table", ""))
        label, law = found.get("label", ""), found.get("law", "")
        if "margin" in found:
            test, release = parts.pop(0), parts.pop(0) if found.get("parts") == "2" else None
            margin = int(found["margin"])
            steps.append(measured(test, release, margin=margin, label=label, table=table, law=law))
        else:
            test_loss, release_loss, delta = (read(found.get(key, ""), key) for key in ("test", "release", "delta"))
            steps.append(PtrStep(test_loss, release_loss, delta, tree.adjacency, label, table, law))
    if parts:  # parameters left over are found by ``again``, which compares them
        raise PublicParameterError("a level holds its steps and nothing else")
    return steps


def _table(text: str) -> Table:
    for known in get_args(Table):
        if text == known:
            table: Table = known
            return table
    raise PublicParameterError("a table of another kind")


def _cascade_of(levels: Sequence[Guarantee], label: str) -> Guarantee:
    if any(level.by.name != LEVEL.name for level in levels):
        raise PublicParameterError("a cascade is made of levels; tight levels are chained by compose.in_sequence")
    return _added(levels, GENERAL_CASCADE if _drawn(levels) else CASCADE, label)


def _side_by_side(parts: Sequence[Guarantee], by: Theorem, label: str) -> Guarantee:
    for part in parts:
        if not _is_ptr(part):
            raise PublicParameterError("this composition is of cascades; mix others in with compose.in_sequence")
    return _added(parts, by, label)


def _is_ptr(tree: Guarantee) -> bool:
    return tree.by.name in NAMES or (tree.by.name == SEQUENCE.name and all(map(_is_ptr, tree.parts)))


def _added(parts: Sequence[Guarantee], by: Theorem, label: str) -> Guarantee:
    whole = in_sequence(parts, label=label)
    return whole if len(parts) == 1 else replace(whole, by=by)


def _drawn(trees: Sequence[Guarantee]) -> bool:
    """Tell if some step reads a table drawn from the rows' own."""
    return any(
        (tree.by.name in _OF_STEPS and any(step.table != "same" for step in _steps(tree))) or _drawn(tree.parts)
        for tree in trees
    )
