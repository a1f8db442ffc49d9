"""Files that an earlier version of the package wrote, and what that version read in them.

They are copied before they are opened: a ledger keeps its log beside it while it is in use.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).parents[1] / "golden" / "v0_1_0"
FIGURES: Final[dict[str, dict[str, Any]]] = json.loads((FOLDER / "figures.json").read_text("utf-8"))
THEOREMS: Final[dict[str, Any]] = json.loads((FOLDER / "theorems.json").read_text("utf-8"))


def copied(part: str, to: Path) -> Path:
    """A copy of one folder of the golden files, in ``to``."""
    return Path(shutil.copytree(FOLDER / part, to / part))


def certificate(name: str) -> Path:
    """The golden certificate of this name; it is only read."""
    return FOLDER / "certificates" / f"{name}.json"
