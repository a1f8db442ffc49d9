"""Learning from private rows: questions that may depend on the answers before them, and models."""

from __future__ import annotations

from reticent.learning.bounded import Accuracy, Between, Level, Product

__all__ = ["Accuracy", "Between", "Level", "Product"]
