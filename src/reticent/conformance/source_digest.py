"""Digest of the installed source: the program that made a report.

Two installations with one digest have the same files of this package, byte by byte. It says nothing of Python, of other
packages, or of a program that was changed after its files were read.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

COMPILED: Final = {".pyc", ".pyo"}


def digest(package: Path | None = None) -> str:
    """SHA-256, as hex, over the names and contents of the package's files, in the order of their names.

    Parameters
    ----------
    package : Path, optional
        The folder of a package; by default this one, as it is installed. Compiled files are left out.
    """
    folder = Path(__file__).parents[1] if package is None else package
    whole = hashlib.sha256()
    files = [path for path in folder.rglob("*") if path.suffix not in COMPILED and path.is_file()]
    for path in sorted(files, key=lambda path: path.relative_to(folder).as_posix()):
        content = path.read_bytes()
        whole.update(f"{path.relative_to(folder).as_posix()}\0{len(content)}\0".encode())
        whole.update(content)
    return whole.hexdigest()
