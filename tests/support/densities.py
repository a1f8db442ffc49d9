"""The density of a release with one question about one."""

from __future__ import annotations

from reticent.study.release import Release
from reticent.synthesis.density import Density


def density_of(release: Release) -> Density:
    """The density of the only answer.

    Raises
    ------
    NoReplyError
        Where the release gave no reply.
    """
    (answer,) = release.answers
    density = answer.density
    assert isinstance(density, Density)
    return density
