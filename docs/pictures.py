"""Pictures of the documentation, drawn by the package: ``make pictures``, or ``python docs/pictures.py NAME ...``.

A picture of a release is of one real run, so the next run draws another. Name the pictures that are to be made again.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STATIC: Final = Path(__file__).parent / "_static"


def demo(folder: Path) -> None:
    """Keep what ``reticent demo`` prints, and the figure of its release."""
    command = [sys.executable, "-m", "reticent", "demo"]
    wide = os.environ | {"COLUMNS": "100"}
    done = subprocess.run(command, cwd=folder, env=wide, stdout=subprocess.PIPE, text=True, check=True)
    (STATIC / "demo.txt").write_text(done.stdout, "utf-8")
    (STATIC / "demo.svg").write_bytes((folder / "reticent-demo" / "table4.svg").read_bytes())


ROOMS: Final = ("study", "statistics", "data", "mechanisms", "privacy", "exact", "ledger", "certificate", "other")


def release_trace(_folder: Path) -> None:
    """Draw which files a release of one mean runs through, stage by stage, in order of their first call."""
    import numpy as np
    from matplotlib.figure import Figure

    import reticent as rt

    ages = np.random.default_rng(1).integers(18, 90, 5000)
    study = rt.study({"age": ages}, adjacency="add_remove", columns={"age": rt.integer(0, 110)}, budget="3")
    study.release([rt.mean("age")], epsilon="1")  # modules load now, and are no part of the trace
    stages = ["refuse"]
    watched = replace(study, on_stage=stages.append)
    functions = traced(lambda: watched.release([rt.mean("age")], epsilon="1"), stages)
    places = list(functions)
    room = [ROOMS.index(name) if (name := file.split("/")[0]) in ROOMS else len(ROOMS) - 1 for _, file in places]
    figure = Figure(figsize=(10, 0.155 * len(places) + 1.2), layout="constrained")
    axes = figure.add_subplot()
    axes.plot(room, range(len(places)), color="#cfe3f5", linewidth=1, zorder=1)
    axes.scatter(
        room, range(len(places)), s=[4 * len(names) for names in functions.values()], color="#0b4f85", zorder=2
    )
    for row, (_, file) in enumerate(places):
        offset = (4 + len(functions[places[row]]) ** 0.5, 0)
        name = file.split("/", 1)[-1].removesuffix(".py")
        axes.annotate(name, (room[row], row), offset, textcoords="offset points", fontsize=7, va="center")
    for stage in stages:
        first = [name for name, _ in places].index(stage) - 0.5
        axes.axhline(first, color="#6b7280", linewidth=0.8)
        axes.annotate(stage, (-1.25, first), (0, -3), textcoords="offset points", fontsize=10, va="top", weight="bold")
    axes.set(xticks=range(len(ROOMS)), xticklabels=ROOMS, xlim=(-1.3, len(ROOMS) - 0.2), ylim=(len(places), -0.5))
    axes.tick_params(length=0, left=False, labelleft=False, top=True, labeltop=True, bottom=False, labelbottom=False)
    axes.spines[:].set_visible(False)
    keep(figure, "release_trace")
    files, names = {file for _, file in places}, {(file, name) for _, file in places for name in functions[_, file]}
    print(f"one mean: {len(names)} functions of {len(files)} files")


def traced(run: Callable[[], object], stages: list[str]) -> dict[tuple[str, str], set[str]]:
    """Functions that a call runs through, by the last of ``stages`` and by file, both in order."""
    import reticent

    source = Path(reticent.__file__).parent
    found: dict[tuple[str, str], set[str]] = {}

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and source in Path(frame.f_code.co_filename).parents:
            file = Path(frame.f_code.co_filename).relative_to(source).as_posix()
            found.setdefault((stages[-1], file), set()).add(frame.f_code.co_qualname)

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return found


def keep(figure: Figure, name: str) -> None:
    """Write a figure as an SVG without a date, its text as text."""
    from reticent.certificate.render.figure import as_svg

    (STATIC / f"{name}.svg").write_text(as_svg(figure, name), "utf-8")


PICTURES: Final[dict[str, Callable[[Path], None]]] = {
    "demo": demo,
    "release_trace": release_trace,
}


if __name__ == "__main__":
    for name in sys.argv[1:] or PICTURES:
        with tempfile.TemporaryDirectory() as place:
            os.environ["XDG_STATE_HOME"] = str(Path(place) / "state")
            PICTURES[name](Path(place))
            print(name)
