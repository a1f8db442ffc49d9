"""The same noise for several releases of a test, so that their answers can be compared number by number."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from reticent.entropy import Replayed


@pytest.fixture
def same_noise(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Whatever is drawn after a call is drawn again after the next one."""
    return lambda: monkeypatch.setattr("reticent.entropy._read", Replayed("noise")._read)
