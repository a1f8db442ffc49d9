"""``--with MODULE``: modules of third parties, which the person at the command line names.

A dotted name is imported as Python finds it; a path that ends in .py is run as a module of its stem. The current folder
is not searched by a name: a file that lies there is run where its path is given and not otherwise.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import click


def modules_of(names: Sequence[str]) -> tuple[ModuleType, ...]:
    """The modules named, imported in order.

    Raises
    ------
    click.BadParameter
        A module that is not there, cannot be imported, or has a name that another one has.
    """
    return tuple(_file(Path(name)) if name.endswith(".py") else _module(name) for name in names)


def _module(name: str) -> ModuleType:
    if not all(part.isidentifier() for part in name.split(".")):
        raise click.BadParameter(f"--with needs the name of a module or a path FILE.py, got '{name[:80]}'.")
    try:
        return import_module(name)
    except ModuleNotFoundError as missing:
        beside = f" For a file in this folder: --with ./{name}.py." if Path(f"{name}.py").is_file() else ""
        raise click.BadParameter(f"There is no module {missing.name or name} here.{beside}") from None
    except Exception as error:
        raise click.BadParameter(f"{name} cannot be imported: {type(error).__name__}.") from None


def _file(path: Path) -> ModuleType:
    name = path.stem
    if not name.isidentifier() or not path.is_file():
        raise click.BadParameter(f"--with needs a file whose name is that of a module; there is no such {path}.")
    place = path.resolve()
    here = sys.modules.get(name)
    if here is not None and getattr(here, "__file__", None) == str(place):
        return here
    if here is not None or _origin(name) not in (None, str(place)):
        raise click.BadParameter(f"There is another module {name}: give {path.name} another name.")
    spec = spec_from_file_location(name, place)
    assert spec is not None  # a file that ends in .py has a loader
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise click.BadParameter(f"{path} cannot be run: {type(error).__name__}.") from None
    return module


def _origin(name: str) -> str | None:
    """The file that an import of ``name`` would run, or a word for it; None where there is no such module."""
    try:
        spec = find_spec(name)
    except (ImportError, ValueError):
        return None
    return None if spec is None else str(spec.origin)
