"""Prepare a folder with the public table and its study file, and publish what the study file plans."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import resources
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final

from reticent.certificate.keys import make_keys
from reticent.certificate.record import Record
from reticent.demo.truth import truths
from reticent.errors import SpecError
from reticent.ledger.fingerprint import disown
from reticent.study.memory import open as open_study

if TYPE_CHECKING:
    from reticent.certificate.verify import Verification
    from reticent.study.plan import Plan
    from reticent.study.release import Release
    from reticent.study.study import Study

FOLDER: Final = "reticent-demo"
TABLE: Final = "randhie.parquet"
STUDY: Final = "rand.toml"
STEM: Final = "table4"
KEY: Final = "throwaway"


@dataclass(frozen=True, slots=True)
class Demonstration:
    """Results of the demonstration: the publication, the truth beside it, and the check by a third party."""

    folder: Path
    study: Study
    plan: Plan
    release: Release
    truth: Mapping[str, tuple[float | None, ...]]
    verification: Verification
    files: tuple[Path, ...]
    private: Path
    public: Path


def prepare(out: str | Path | None = None) -> Path:
    """A new folder with the public table and its study file.

    Without ``out`` it is ``reticent-demo``, or ``reticent-demo-2`` and so on where earlier ones are: their ledgers
    count what was spent, and stay.

    Raises
    ------
    SpecError
        When ``out`` holds something already, or cannot be made.
    """
    folder = _free() if out is None else Path(out)
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise SpecError(f"{folder} is there already and is left as it is. Name a new folder: --out DIR")
        folder.mkdir(parents=True, exist_ok=True)
        for name in (TABLE, STUDY, "README.md"):
            (folder / name).write_bytes((resources.files("reticent.demo") / name).read_bytes())
    except OSError:
        raise SpecError(f"{folder} cannot be written: check that the folder above it exists and is yours.") from None
    disown(folder / TABLE)  # an earlier demonstration at this place, deleted since, spent nothing of anybody's
    return folder


def publish(folder: Path, watched: Callable[[Study], Study] = lambda study: study) -> Demonstration:
    """Release what the study file in ``folder`` plans, signed with a key made for this run alone.

    ``watched`` gives the study whose stages and rows are told.
    """
    study = watched(open_study(folder / STUDY))
    asked = study.named()
    plan = study.plan(list(asked.ask), epsilon=asked.epsilon)
    private, public = make_keys(folder / KEY)
    release = study.release(
        list(asked.ask),
        epsilon=asked.epsilon,
        purpose="demonstration",
        record=Record(name=asked.name, key=private, try_anyway=True),
    )
    files = release.save(folder / STEM)
    return Demonstration(
        folder=folder,
        study=study,
        plan=plan,
        release=release,
        truth=truths(release.answers, folder / TABLE),
        verification=release.certificate.verify(study.ledger, public),
        files=files,
        private=private,
        public=public,
    )


def _free() -> Path:
    for number in count(1):
        folder = Path(FOLDER if number == 1 else f"{FOLDER}-{number}")
        if not folder.exists() and not folder.is_symlink():
            return folder
    raise AssertionError("unreachable: count does not end")
