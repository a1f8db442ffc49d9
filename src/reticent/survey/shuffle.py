"""Central guarantee of a survey behind a shuffler, for one respondent when only counts are seen.

The local guarantee needs no trust and stays beside this one: whoever sees single answers, or a subgroup counted
apart, is bound by the local one.
"""

from __future__ import annotations

from reticent.errors import PublicParameterError
from reticent.mechanisms.one_sided import OneSided
from reticent.mechanisms.randomized_response import RandomizedResponse
from reticent.mechanisms.shuffled_answers import ShuffledAnswers
from reticent.mechanisms.shuffled_response import ShuffledResponse
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import Number, read
from reticent.survey.design_record import DesignRecord


def guarantee(design: DesignRecord, people: int, delta: Number, shuffler: str) -> Guarantee:
    """See ``Design.shuffled``.

    Parameters
    ----------
    design : DesignRecord
    people : int
        Number of respondents.
    delta : number
        In (0, 1).
    shuffler : str
        Who drops senders and order.

    Returns
    -------
    Guarantee
        In the central model.

    Raises
    ------
    PublicParameterError
        A design without an epsilon.
    """
    made, allowed = design.mechanism, read(delta, "delta")
    if isinstance(made, OneSided):
        raise PublicParameterError("a one-sided design has no ε, and shuffling amplifies nothing else")
    if isinstance(made, RandomizedResponse):
        return ShuffledResponse(made, people, allowed, shuffler).guarantee
    return ShuffledAnswers(made, people, allowed, shuffler).guarantee
