"""Releases in which neighbours differ in several persons: a household, or what a key of one person is kept for.

    settle_moved(questions, ...)    a release of one person's step, lifted to all the steps that neighbours are apart

Neighbouring sources give joined rows that differ in ``Person.moved`` steps, each of one person's rows
(docs/proofs/joins.md, Theorems 2 to 4). So the release is prepared at a share of its loss, and ``grouped``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reticent.certificate.snapshot import NOTHING
from reticent.data.schema import Schema
from reticent.errors import QuestionError
from reticent.privacy import ptr
from reticent.privacy.compose import together
from reticent.privacy.convert import epsilon_delta
from reticent.privacy.cost import Cost
from reticent.statistics.extensions import Extension
from reticent.statistics.statistic import Ask
from reticent.study.allocation import PreparedRelease, settle


def settle_moved(
    asked: Sequence[Ask],
    within: Cost,
    schema: Schema,
    units: int | None,
    currency: str,
    extensions: Sequence[Extension] = (),
) -> PreparedRelease:
    """Steps and guarantee of a release, as ``settle`` gives them, for rows that reach their person through a key.

    Parameters
    ----------
    asked : sequence of Ask
        Questions of the release.
    within : Cost
        Total of the release.
    schema : Schema
        Schema of the study.
    units : int or None
        The public number of persons, if there is one.
    currency : str
        Currency of the ledger.
    extensions : sequence of Extension
        Statistics of third parties.

    Returns
    -------
    PreparedRelease
        Release whose guarantee is lifted to persons.

    Raises
    ------
    QuestionError
        A question with a loss of its own: only the total is shared out here.
    PublicParameterError
        What ``settle`` refuses, and a loss that no theorem lifts to a group.
    """
    reason = "rows reach their person through a key"
    if not schema.owner:
        reason = f"the guarantee is about a {schema.person.unit} of several persons"
    if within.epsilon is None and within.rho is None:
        raise QuestionError(
            f"Say epsilon=… of the whole release: {reason}, and a loss of a question's own would be of one step. "
            "Nothing was charged."
        )
    if any(item.epsilon is not None or item.delta is not None for item in asked):
        raise QuestionError(
            f"{reason[0].upper()}{reason[1:]}: say epsilon and delta of the whole release. Nothing was charged."
        )
    inner = currency if within.rho is None else "zcdp"  # converted once, at the root
    made = settle(asked, within.of_one_step(schema.person.moved), schema, units, inner, NOTHING, extensions)
    whole = together([schema.lifted(made.guarantee)], within, currency)
    within.admit(ptr.chargeable(whole).loss, epsilon_delta(whole.loss)[0])
    told = filter(None, (schema.lift_words("the release"), schema.person.likeness_words))
    return replace(made, guarantee=whole, notes=(*made.notes, *told))
