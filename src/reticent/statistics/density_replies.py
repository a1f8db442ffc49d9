"""Probability of a reply of a density: its noisy number of records has to come out above the noise.

The noise of that number is a sum over many counts, so it is taken for normal. The number alone decides, whatever the
shape of the records. Methods without a number to divide by always reply.
"""

from __future__ import annotations

import math

import numpy as np

from reticent.statistics.context import ALWAYS, Replies, normally, of_any
from reticent.synthesis import bar_smoothing
from reticent.synthesis.bernstein import Bernstein
from reticent.synthesis.fidelity import FidelityRelease
from reticent.synthesis.joint_grid import JointDensity
from reticent.synthesis.kernel import Kernel
from reticent.synthesis.ks import KSRelease
from reticent.synthesis.linear import LinearDensity, shares_of
from reticent.synthesis.method_selection import Auto
from reticent.synthesis.mixed_columns import MixtureDensity
from reticent.synthesis.options import DensityMechanism
from reticent.synthesis.parameter_selection import TunedDensity
from reticent.synthesis.partition import PartitionDensity
from reticent.synthesis.series import Series


def replies_of(plan: DensityMechanism, records: int) -> Replies:
    """The probability of a reply of a plan for so many records."""
    match plan:
        case FidelityRelease(plan=inner) | MixtureDensity(plan=inner) | Series(plan=inner) | Kernel(plan=inner):
            return replies_of(inner, records)
        case Bernstein(plan=inner):
            return replies_of(inner, records)
        case PartitionDensity():
            return of_any(_of_bars(plan.after(plan.search(records)), records))
        case JointDensity():
            each = (
                one.after(one.search(records)) if isinstance(one, PartitionDensity) else one for one in plan.margins
            )
            return of_any(math.prod(_of_bars(one, records) for one in each))
        case Auto():
            return of_any(_of_bars(plan, records))
        case LinearDensity():
            return of_any(_of_linear(plan, records))
        case TunedDensity():
            return of_any(_of_tuned(plan, records))
        case KSRelease():
            bought = plan.size.bought is not None
            return of_any(0.0 if bought and plan.expected(records).noise is None else 1.0)
        case _:
            return ALWAYS


def _of_bars(auto: Auto, records: int) -> float:
    if auto.census is None:
        return 1.0
    size = bar_smoothing.NoisySize(float(records), math.sqrt(2.0) * float(auto.census.scale))
    sums = auto.paid(auto.pair(max(records, 1))[0]).sums
    _, _, unsure = bar_smoothing.pooled(float(records), sums.deviation * math.sqrt(sums.table.shape[1]), size)
    return normally(records, max(1.0, unsure), unsure)


def _of_linear(plan: LinearDensity, records: int) -> float:
    if plan.sums.terms.size is not None:
        return 1.0
    weights = shares_of(plan.axes) @ plan.back
    least = max(1.0, plan.reach_of(weights), plan.unsure)
    each = [weights] if plan.counting is None else [weights, plan.counting]
    return min(normally(records, least, plan.sums.deviation * float(np.linalg.norm(one))) for one in each)


def _of_tuned(plan: TunedDensity, records: int) -> float:
    if plan.census is None:
        return 1.0
    deviation = math.sqrt(2.0) * float(plan.census.scale)
    return normally(records, max(1.0, 2.0 * deviation), deviation)
