"""The use cases: open a study, plan, rehearse, release, certify."""

from __future__ import annotations

from reticent.study.certificate import Certificate, read_certificate
from reticent.study.plan import Plan
from reticent.study.rehearsal import Rehearsal
from reticent.study.release import Release
from reticent.study.study import Study, open, study  # noqa: A004

__all__ = ["Certificate", "Plan", "Rehearsal", "Release", "Study", "open", "read_certificate", "study"]
