"""The use cases: open a study, plan, rehearse, release, certify."""

from __future__ import annotations

from reticent.study.memory import read_certificate, study
from reticent.study.study import Study, open  # noqa: A004 - rt.open is what people type

__all__ = ["Study", "open", "read_certificate", "study"]
