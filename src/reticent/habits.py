"""Names that other libraries have for what is here under another name: the error of one names ours.

unknown("release", "to_csv")     the AttributeError of a name that was never here
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

HABITS: Final[Mapping[str, Mapping[str, str]]] = {
    "release": {
        "to_csv": 'release.save("table.csv")',
        "to_excel": 'release.save("table.xlsx")',
        "to_json": 'release.save("table.json")',
        "to_html": 'release.save("table.html")',
        "to_pandas": "release.frame().to_pandas()",
        "to_polars": "polars.DataFrame(release)",
        "savefig": 'release.save("table.svg")',
        "values": "release.answers",
        "items": "release.answers, each with its name",
        "summary": "print(release)",
        "epsilon": "release.guarantee",
    },
    "answer": {
        **dict.fromkeys(("to_pandas", "to_frame", "frame", "to_csv"), "release.frame().to_pandas(), of all answers"),
        **dict.fromkeys(("interval", "ci", "conf_int", "bounds"), "answer.low, answer.high"),
        **dict.fromkeys(("error", "margin", "stderr", "se"), "answer.noise and answer.sampling, half-widths at 95 %"),
        **dict.fromkeys(("p", "pvalue"), "answer.p_value"),
        "keys": "[cell.label for cell in answer]",
    },
    "selection": {
        "to_pandas": "selection.frame().to_pandas()",
        "to_polars": "polars.DataFrame(selection)",
        "summary": "print(selection)",
        **dict.fromkeys(("save", "to_csv"), 'selection.release.save("table")'),
        **{name: f"selection.release.{name}" for name in ("guarantee", "certificate", "receipt", "caveats", "answers")},
    },
    "study": {
        **dict.fromkeys(("head", "sample", "iloc", "loc"), 'study.synthesize(["x"], epsilon=…), of made-up rows'),
        **dict.fromkeys(("groupby", "group_by"), 'study.by("g").release(…)'),
        **dict.fromkeys(("query", "filter"), 'study.where("x > 3")'),
        **dict.fromkeys(("columns", "dtypes", "info"), "print(study)"),
        **dict.fromkeys(("shape", "size", "count"), "study.release([rt.count()], epsilon=…)"),
        **dict.fromkeys(("mean", "sum", "median", "describe"), 'study.release([rt.mean("x")], epsilon=…)'),
        **dict.fromkeys(("budget", "remaining"), "study.left()"),
    },
    "synthetic": {
        "to_pandas": "synthetic.frame().to_pandas()",
        "to_polars": "polars.DataFrame(synthetic)",
        "head": "synthetic.frame().slice(0, 5)",
    },
}


def unknown(owner: str, name: str) -> AttributeError:
    """The error of a name that ``owner`` does not have, with what to write where the habit is known."""
    here = HABITS[owner].get(name)
    return AttributeError(f"{owner} has no attribute '{name}'" + ("" if here is None else f". Write: {here}"))


__all__ = ["unknown"]
