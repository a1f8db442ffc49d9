"""The former place of ``Certificate``: pickles of version 0.1.0 name it."""

from reticent.certificate.certificate import Certificate

__all__ = ["Certificate"]
