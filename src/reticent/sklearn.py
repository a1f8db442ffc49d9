"""Name of ``reticent.learning`` in 0.1.0: its import is refused with the name of today."""

from reticent.former_names import missing

raise ModuleNotFoundError(str(missing("reticent", "sklearn")), name=__name__)
