"""The use cases: open a study, plan, rehearse, release, certify."""

from __future__ import annotations

from reticent.study.memory import open, read_certificate, read_release, study  # noqa: A004 - rt.open is what people type
from reticent.study.study import Study

__all__ = ["Study", "open", "read_certificate", "read_release", "study"]
