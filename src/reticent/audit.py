"""Name of ``reticent.conformance`` in 0.1.0: its import is refused with the name of today."""

from reticent.former_names import missing

raise ModuleNotFoundError(str(missing("reticent", "audit")), name=__name__)
