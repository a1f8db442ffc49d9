"""reticent: differential privacy for data curators."""

__version__ = "0.1.0"
