"""The use cases: open a study, plan, rehearse, release, certify."""

from __future__ import annotations

from reticent.study.memory import open, read_certificate, read_release, study, table  # noqa: A004 - people type rt.open
from reticent.study.study import Study

__all__ = ["Study", "open", "read_certificate", "read_release", "study", "table"]
