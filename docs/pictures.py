"""Pictures of the documentation, drawn by the package: ``make pictures``, or ``python docs/pictures.py NAME ...``.

A picture of a release is of one real run, so the next run draws another. Name the pictures that are to be made again.
The certificate of each run stays in ``_static/certificates``: ``again`` draws them anew, and a test holds that they are
drawn as the package draws them now.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DOCS: Final = Path(__file__).resolve().parent
STATIC: Final = DOCS / "_static"
CERTIFICATES: Final = STATIC / "certificates"
README: Final = DOCS.parent / "README.md"
DOT: Final = "#0b4f85"
LINES: Final[tuple[dict[str, Any], ...]] = (  # apart in grey and on a screen
    {"color": DOT, "linestyle": "-", "marker": "o"},
    {"color": "#7db8e8", "linestyle": "-", "marker": "s"},
    {"color": "#1f2328", "linestyle": "--", "marker": "^"},
    {"color": "#6b7280", "linestyle": ":", "marker": "D"},
)


def demo(folder: Path) -> None:
    """Keep what ``reticent demo`` prints, with the figure and the certificate of its release; show it in the README."""
    command = [sys.executable, "-m", "reticent", "demo"]
    wide = os.environ | {"COLUMNS": "100"}
    done = subprocess.run(command, cwd=folder, env=wide, stdout=subprocess.PIPE, text=True, check=True)
    (STATIC / "demo.txt").write_text(done.stdout, "utf-8")
    for ending, kept in ((".svg", STATIC), (".json", CERTIFICATES)):
        shutil.copy(folder / "reticent-demo" / f"table4{ending}", kept / f"demo{ending}")
    table = re.search(r"^ *half-widths:\n.*?\n(?=\n)", done.stdout, re.MULTILINE | re.DOTALL)
    assert table is not None
    shown = "".join(f"    {line}\n" for line in table[0].splitlines())
    before, command_line, rest = README.read_text("utf-8").partition("    $ reticent demo\n")
    README.write_text(f"{before}{command_line}{shown}\n{rest.partition(chr(10) * 2)[2]}", "utf-8")


def again(_folder: Path) -> None:
    """Draw the figure of every certificate that is kept as the package draws it now."""
    from reticent.certificate.certificate import Certificate
    from reticent.certificate.render.figure import svg

    for kept in sorted(CERTIFICATES.glob("*.json")):
        (STATIC / f"{kept.stem}.svg").write_text(svg(Certificate(kept.read_text("utf-8"))), "utf-8")


ROOMS: Final = ("study", "statistics", "data", "mechanisms", "privacy", "exact", "ledger", "certificate", "other")


def release_trace(_folder: Path) -> None:
    """Draw which files a release of one count runs through, stage by stage, in order of their first call."""
    import numpy as np
    from matplotlib.figure import Figure

    import reticent as rt

    ages = np.random.default_rng(1).integers(18, 90, 5000)
    study = rt.study({"age": ages}, adjacency="add_remove", columns={"age": rt.integer(0, 110)}, budget="3")
    study.release([rt.count()], epsilon="1")  # modules load now, and are no part of the trace
    stages = ["refuse"]
    watched = replace(study, on_stage=stages.append)
    functions = traced(lambda: watched.release([rt.count()], epsilon="1"), stages)
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
    print(f"one count: {len(names)} functions of {len(files)} files")


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


def page(name: str, folder: Path, blocks: int | None = None) -> dict[str, Any]:
    """Names that the Python of a page leaves, run in ``folder`` beside the table of the demonstration."""
    import reticent.demo

    for file in ("rand.toml", "randhie.parquet"):
        shutil.copy(Path(reticent.demo.__file__).parent / file, folder)
    os.chdir(folder)
    text, names = (DOCS / f"{name}.md").read_text("utf-8"), dict[str, Any]()
    for block in re.findall(r"^```python\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)[:blocks]:
        exec(compile(block, name, "exec"), names)
    return names


def plain(title: str, across: str, up: str) -> tuple[Figure, Axes]:
    """An empty figure with words at its axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 3.2), layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(title, fontsize=10, loc="left")
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def first_survey(folder: Path) -> None:
    from reticent.survey import report

    names = page("tutorials/survey", folder)
    (STATIC / "survey.svg").write_text(report.svg(names["result"].plot()), "utf-8")


def teaching(folder: Path) -> None:
    keep(page("tutorials/teaching", folder)["bars"].plot(), "teaching")


def learning(folder: Path) -> None:
    """Draw the share of right labels of logistic fits of the tutorial's rows against epsilon."""
    from fractions import Fraction

    import numpy as np

    from reticent.learning import LogisticRegression
    from reticent.ledger import Ledger
    from reticent.privacy.adjacency import Adjacency
    from reticent.privacy.loss import PureDP

    names = page("tutorials/learning", folder, 2)
    rows, labels, limits = names["X"], names["y"], names["limits"]
    near = Adjacency("add_remove")
    ledger = Ledger.create(None, title="picture", adjacency=near, budget=PureDP(Fraction(100)))
    who = {"bounds": limits, "classes": [0, 1], "adjacency": "add_remove", "ledger": ledger}
    figure, axes = plain("10 fits at each epsilon, 20,000 rows", "epsilon", "share of right labels")
    for epsilon in ("0.01", "0.03", "0.1", "0.3", "1"):
        fits = [LogisticRegression(epsilon=epsilon, **who) for _ in range(10)]
        shares = [float(np.mean(one.fit(rows, labels).predict(rows) == labels)) for one in fits]
        axes.plot([float(epsilon)] * 10, shares, ".", color=DOT, alpha=0.5)
    best = float(np.mean((0.05 * (rows[:, 0] - 50) + 0.2 * (rows[:, 1] - 12) > 0) == labels))
    axes.axhline(best, color="#6b7280", linewidth=1)
    axes.annotate("the law of the rows", (0.55, best), (0, -10), textcoords="offset points", fontsize=8, ha="center")
    axes.set_xscale("log")
    keep(figure, "learning")


def odds(_folder: Path) -> None:
    from fractions import Fraction

    import reticent as rt
    from reticent import lab

    keep(lab.odds(rt.PureDP(Fraction(1)), budget=rt.PureDP(Fraction(3))).plot(), "odds")


def together(_folder: Path) -> None:
    from reticent import lab

    keep(lab.compose(lab.geometric(1, "1/10"), times=50).plot(), "together")


def groups(folder: Path) -> None:
    release(page("how-to/groups_and_persons", folder)["release"], folder, "groups")


def compare_answers(folder: Path) -> None:
    """Draw the sites of the page: their intervals at 95 %, and those that hold together."""
    names = page("how-to/compare_answers", folder, 1)
    made = names["release"]
    single = made[names["by_site"]]
    (together,) = made.simultaneous([names["by_site"]])
    figure, axes = plain("Means of six sites, of one release at epsilon 2", "visits to a doctor in a year", "site")
    for cells, width, colour, words in (
        (together, 2, "#7db8e8", "all six together"),
        (single, 6, DOT, "each by itself"),
    ):
        spans = [cell.outcome.value for cell in cells]
        axes.hlines(range(6), [s.low for s in spans], [s.high for s in spans], colour, linewidth=width, label=words)
    axes.plot([cell.outcome.value.value for cell in single], range(6), "o", color="white", markersize=3)
    whole = made["mean(mdvis)"].estimate
    axes.axvspan(whole.low, whole.high, color="#e5e7eb", label="all sites", zorder=0)
    axes.set(yticks=range(6), yticklabels=[key for cell in single for _, key in cell.label], ylim=(5.5, -0.5))
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    keep(figure, "compare_answers")


def dates(folder: Path) -> None:
    release(page("how-to/dates", folder)["release"], folder, "dates")


def filters(folder: Path) -> None:
    release(page("how-to/filters", folder)["release"], folder, "filters")


def weights(folder: Path) -> None:
    release(page("how-to/weights", folder)["release"], folder, "weights")


def sql(folder: Path) -> None:
    release(page("how-to/sql", folder)["found"].release, folder, "sql")


def flights(folder: Path) -> None:
    release(page("tutorials/flights", folder)["release"], folder, "flights")


def flights_tables(folder: Path) -> None:
    release(page("tutorials/flights_tables", folder)["release"], folder, "flights_tables")


def tables(folder: Path) -> None:
    """Draw how a row of the example reaches its patient and its ward."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 2.8), layout="constrained")
    axes = figure.add_subplot()
    heads = {
        "visits": (0, 0, ["patient", "ward", "cost", "admitted"], "at most 5 rows of a person"),
        "patients": (4, 0, ["patient", "age"], "about people: joined on the person"),
        "wards": (4, -2, ["ward", "name"], "about nobody: looked up by its key"),
    }
    places = {}
    for name, (x, y, columns, told) in heads.items():
        axes.text(x, y + 0.5, name, weight="bold")
        axes.text(x + 1.5, y + 0.5, told, size=8, color="0.35")
        for row, column in enumerate(columns):
            places[name, column] = x, y - row * 0.5
            axes.text(x, y - row * 0.5, column, bbox={"facecolor": "white", "edgecolor": "0.6"})
    for table, column in (("patients", "patient"), ("wards", "ward")):
        (x, y), (to, end) = places["visits", column], places[table, column]
        axes.annotate("", xy=(to - 0.1, end + 0.1), xytext=(x + 1, y + 0.1), arrowprops={"arrowstyle": "->"})
    axes.set(xlim=(-0.3, 8.8), ylim=(-2.8, 1))
    axes.axis("off")
    keep(figure, "tables")


def no_reply(folder: Path) -> None:
    import reticent as rt

    study = page("how-to/no_reply", folder, 0) or rt.open("rand.toml")
    asked = [rt.quantile("meddol", level) for level in (0.5, 0.75, 0.9, 0.999)]
    release(study.release(asked, epsilon=1), folder, "no_reply")


def robust(folder: Path) -> None:
    release(page("how-to/robust", folder, 1)["release"], folder, "robust")


def release(made: Any, folder: Path, name: str) -> None:
    """Keep the figure that a release writes itself, and its certificate."""
    made.save(folder / name, files=(".svg", ".json"))
    shutil.copy(folder / f"{name}.svg", STATIC)
    shutil.copy(folder / f"{name}.json", CERTIFICATES)


def sessions(folder: Path) -> None:
    """Draw the price of each kind of session against the number of questions."""
    study = page("how-to/adaptive", folder, 1)["study"]
    figure, axes = plain(
        "10 answers above, error at most .05, 5,000 people", "questions", "epsilon at the default delta"
    )
    counts = [10, 20, 50, 100, 200, 500, 1000, 2000, 5000]
    found = [study.session_prices(questions=count, positives=10, width=0.05, people=5_000) for count in counts]
    for style, line in zip(LINES, found[0].lines, strict=True):
        axes.plot(counts, [prices[line.way].epsilon for prices in found], markersize=4, label=line.way, **style)
    axes.set(xscale="log", yscale="log")
    axes.legend(frameon=False)
    keep(figure, "sessions")


def chances(_folder: Path) -> None:
    """Draw how often a failure of some probability shows itself in the draws of the kit."""
    import numpy as np

    figure, axes = plain("Seen at least once in so many draws", "probability of the failure in one draw", "chance")
    rare = np.logspace(-7, -2, 200)
    told = ((2_000, "2,000: the kit"), (20_000, "20,000: --deep"), (1_000_000, "1,000,000"))
    for style, (draws, words) in zip(LINES, told, strict=False):
        axes.plot(rare, 1 - (1 - rare) ** draws, label=words, **style, markevery=20, markersize=4)
    axes.set_xscale("log")
    axes.legend(frameon=False)
    keep(figure, "chances")


def own_mechanism(folder: Path) -> None:
    """Draw the two laws of the page's mechanism at the neighbours it names."""
    specimen = page("how-to/own_mechanism", folder, 1)["SPECIMENS"][1]
    figure, axes = plain("Staircase noise, sensitivity 4, epsilon 1/2", "output", "probability")
    for (exact,), shift, colour in ((specimen.here, -0.2, DOT), (specimen.there, 0.2, "#7db8e8")):
        masses = [specimen.mass((exact,), (y,)) for y in range(-10, 25)]
        axes.bar([y + shift for y in range(-10, 25)], masses, 0.4, color=colour, label=f"exact count {exact}")
    axes.legend(frameon=False)
    keep(figure, "own_mechanism")


def found_groups(_folder: Path) -> None:
    """Draw the probability that a key is listed, by its number of persons, for one and for five keys of a person."""
    from fractions import Fraction

    from reticent import Adjacency
    from reticent.mechanisms.key_listing import best_listing

    figure, axes = plain("Probability that a key is listed, at list ε 1 and δ 1e-6", "persons of the key", "P(listed)")
    styles: tuple[tuple[int, dict[str, Any]], ...] = ((1, {"color": DOT}), (5, {"color": "#1f2328", "linestyle": "--"}))
    for groups, style in styles:
        made = best_listing(Adjacency("add_remove"), Fraction(1), Fraction(1, 10**6), groups=groups).selection
        persons = range(101)
        words = "one key" if groups == 1 else f"up to {groups} keys"
        axes.step(persons, [float(made.chance(n)) for n in persons], where="mid", label=f"{words} each", **style)
    axes.legend(frameon=False)
    keep(figure, "found_groups")


def reply(folder: Path) -> None:
    """Draw the chance of a reply of the page's test against the lead of the first value."""
    test = page("how-to/propose_test_release", folder)["test"]
    figure, axes = plain(
        "Mode at epsilon 1, delta 1e-6", "lead of the most frequent value, in rows", "chance of a reply"
    )
    leads = range(0, 61, 2)
    axes.plot(leads, [test.chance((lead + 1) // 2) for lead in leads], marker=".", color=DOT)
    axes.axvline(2 * test.threshold, color="#6b7280", linewidth=1)
    keep(figure, "reply")


BEFORE: Final = "c865540"  # the last commit whose pages began with every note
PAINTED: Final = """
import sys
from pathlib import Path
from reticent.certificate.certificate import Certificate
from reticent.certificate.render import figure, page
made = Certificate(Path(sys.argv[1]).read_text("utf-8"))
figure.figure(made).savefig(f"{sys.argv[2]}.png", dpi=75, facecolor="white")
Path(f"{sys.argv[2]}.html").write_text(page.page(made), "utf-8")
"""


def beside(folder: Path) -> None:
    """Draw one certificate by the program of ``BEFORE`` and by this one: its figure, and the top of its page."""
    from PIL import Image

    import reticent as rt

    study = page("how-to/no_reply", folder, 0) or rt.open("rand.toml")
    asked = ["count", "mean(mdvis)", "mean(mdvis) by site", "count by site, female", "histogram(xage, edges=0:70:10)"]
    made = study.release([*asked, "median(xage)", "mean(xage)", "sd(income)"], epsilon="2")
    made.save(folder / "made", files=(".json",))
    old = folder / "old"
    subprocess.run(["git", "-C", DOCS.parent, "worktree", "add", "--detach", old, BEFORE], check=True)
    for tree, name in ((old, "before"), (DOCS.parent, "after")):
        told = os.environ | {"PYTHONPATH": str(tree / "src")}
        subprocess.run([sys.executable, "-c", PAINTED, folder / "made.json", folder / name], env=told, check=True)
        shot = ["chromium", "--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=800,1000"]
        target = (folder / f"{name}.html").as_uri()
        subprocess.run([*shot, f"--screenshot={folder / name}_page.png", target], check=True, capture_output=True)
    subprocess.run(["git", "-C", DOCS.parent, "worktree", "remove", "--force", old], check=True)
    for name, ending in (("figures_map", ""), ("figures_page", "_page")):
        pair = [Image.open(folder / f"{side}{ending}.png").convert("RGB") for side in ("before", "after")]
        whole = Image.new("RGB", (sum(one.width for one in pair) + 20, max(one.height for one in pair)), "white")
        whole.paste(pair[0], (0, 0))
        whole.paste(pair[1], (pair[0].width + 20, 0))
        whole.quantize(32).save(STATIC / f"{name}.png", optimize=True)


def keep(figure: Figure, name: str) -> None:
    """Write a figure as an SVG without a date, its text as text."""
    from reticent.certificate.render.figure import as_svg

    (STATIC / f"{name}.svg").write_text(as_svg(figure, name), "utf-8")


SHOWN: Final = (
    "DuckDB, raw, distinct",
    "main job, nobody above the cap",
    "main job, 42 % of persons above the cap",
    "CSV, DuckDB, raw, distinct",
    "CSV, main job",
)


def engines(_folder: Path) -> None:
    """Draw the last tables of the page of engines: CPU seconds of each job by the number of rows."""
    text = (DOCS / "reference" / "benchmarks-engines.md").read_text("utf-8")
    found: dict[str, list[tuple[int, float]]] = {}
    for rows, table in re.findall(r"^([\d,]+) rows now:\n\n((?:\|.*\n)+)", text, re.MULTILINE):
        for job, seconds in re.findall(r"^\| ([^|]+) \| ([\d.]+) s \|", table, re.MULTILINE):
            found.setdefault(job, []).append((int(rows.replace(",", "")), float(seconds)))
    figure, axes = plain("The main job beside the engine's own group-by", "rows", "CPU seconds")
    for job, points in found.items():
        if job not in SHOWN:
            continue
        axes.plot(*zip(*points, strict=True), marker="o", markersize=3, label=job)
    axes.set(xscale="log", yscale="log")
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    keep(figure, "engines")


def engine_sizes(_folder: Path) -> None:
    """Draw the main job on three engines by the number of rows, from the table of their page."""
    text = (DOCS / "reference" / "benchmarks-engines.md").read_text("utf-8")
    found: dict[str, list[tuple[int, float]]] = {}
    for rows, engine, seconds in re.findall(r"^\| ([\d,]+) \| (\w+) \| [\d.]+ s \| ([\d.]+) s \|", text, re.MULTILINE):
        found.setdefault(engine, []).append((int(rows.replace(",", "")), float(seconds)))
    figure, axes = plain("The main job on each engine", "rows", "CPU seconds")
    for engine, points in found.items():
        axes.plot(*zip(*points, strict=True), marker="o", markersize=3, label=engine)
    axes.set(xscale="log", yscale="log")
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    keep(figure, "engine_sizes")


PICTURES: Final[dict[str, Callable[[Path], None]]] = {
    "demo": demo,
    "again": again,
    "release_trace": release_trace,
    "survey": first_survey,
    "learning": learning,
    "teaching": teaching,
    "odds": odds,
    "filters": filters,
    "weights": weights,
    "sql": sql,
    "flights": flights,
    "flights_tables": flights_tables,
    "tables": tables,
    "dates": dates,
    "groups": groups,
    "compare_answers": compare_answers,
    "no_reply": no_reply,
    "robust": robust,
    "sessions": sessions,
    "chances": chances,
    "together": together,
    "own_mechanism": own_mechanism,
    "reply": reply,
    "found_groups": found_groups,
    "beside": beside,
    "engines": engines,
    "engine_sizes": engine_sizes,
}


if __name__ == "__main__":
    for name in sys.argv[1:] or [name for name in PICTURES if name != "again"]:
        with tempfile.TemporaryDirectory() as place:
            os.environ["XDG_STATE_HOME"] = str(Path(place) / "state")
            PICTURES[name](Path(place))
            print(name)
