"""The former place of ``Verification``: pickles of version 0.1.0 name it."""

from reticent.certificate.verify import Check, Verification

__all__ = ["Check", "Verification"]
