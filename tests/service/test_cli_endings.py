"""How runs end: usage, hostile input, faults, interruptions. Words, a code, never a traceback, never a data value."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from reticent.cli.output import Voice
from reticent.ledger import Ledger
from reticent.study import release
from reticent.study.study import Study
from tests.support.cli_kit import CANARIES, Run, clinic, leaks, run, streamed

ASK = ("--ask", "count", "--epsilon", "0.1")


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return clinic(tmp_path)


def states(study: Path) -> list[str]:
    """What became of each request in the clinic's ledger."""
    ledger = study.parent / "clinic.ledger"
    return [line.state for line in Ledger.open(ledger).releases()] if ledger.exists() else []


# --- usage ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "typed",
    [
        ("chek",),
        ("check",),
        ("check", "a", "b"),
        ("plan", "x.toml", "--epsilonn", "1"),
        ("explain", "x.json", "--prior", "often"),
        ("init",),
        ("init", "x.csv", "--key", "y"),
        ("ledger", "shows"),
        ("ledger", "close", "x"),
        ("plan", "x.toml", "--people", "0"),
        ("rehearse", "x.toml", "--people", "-5"),
    ],
)
def test_a_command_line_that_cannot_be_understood_ends_with_two(typed: tuple[str, ...]) -> None:
    done = run(*typed)
    assert (done.code, done.out) == (2, "")
    assert "--help" in done.err
    told = run(*typed, "--json").document["error"]
    assert (told["kind"], told["charged"], told["exit"]) == ("usage", "nothing", 2)


def test_release_and_ask_exclude_each_other(study: Path) -> None:
    assert run("plan", str(study), "--release", "tail", "--ask", "count").code == 2


def test_the_parser_knows_near_names() -> None:
    done = run("plan", "x.toml", "--epsilonn", "1")
    assert "'--epsilon'" in done.err
    assert "See: reticent plan --help" in done.said


@pytest.mark.parametrize("verb", ["", "ledger"])
def test_no_verb_shows_the_help(verb: str) -> None:
    done = run(*verb.split())
    assert "Commands:" in done.out + done.err


# --- hostile input ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "said"),
    [
        ("0.1+0.2", "must be a number"),
        ("nan", "must be a number"),
        ("inf", "must be a number"),
        ("-1", "must be > 0"),
        ("0", "must be > 0"),
        ("50", "protects no one"),
        ("", "must be a number"),
        ("0x10", "must be a number"),
    ],
)
def test_an_epsilon_that_is_none_is_refused(study: Path, number: str, said: str) -> None:
    for verb in ("plan", "release"):
        done = run(verb, str(study), "--ask", "count", f"--epsilon={number}")
        assert done.code == 5, done
        assert said in done.said
        assert "Traceback" not in done.said
    assert states(study) == []


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        ("mean(agee)", "Did you mean age?"),
        ("mean(cost)", "needs a range known without looking at the file"),
        ("meen(age)", "Did you mean mean?"),
        ("SELECT * FROM clinic", "Rows cannot be released"),
        ("mean(age) by diagnosis", "There is no column 'diagnosis'"),
        ("quantile(age, 1.5)", "level must lie between 0 and 1"),
        ("", "cannot be read"),
        ("mean(", "cannot be read"),
        ("count(epsilon=nan)", "must be a number"),
    ],
)
def test_a_question_that_cannot_be_asked_is_refused(study: Path, ask: str, said: str) -> None:
    for verb in ("plan", "release"):
        done = run(verb, str(study), "--ask", ask, "--epsilon", "0.5")
        assert (done.code, said in done.said) == (5, True), done
    assert states(study) == []


def test_an_unknown_release_lists_the_known(study: Path) -> None:
    done = run("release", str(study), "--release", "table 5")
    assert done.code == 5
    assert "There is no release 'table 5'. Did you mean table 4?" in done.said
    assert 'The study file has: "table 4", "tail". Nothing was charged.' in done.said
    none = run("release", str(study))
    assert (none.code, "Name one with --release" in none.said) == (5, True)


def hostile(folder: Path, kind: str) -> Path:
    path = folder / f"hostile-{kind}"
    match kind:
        case "folder":
            path.mkdir()
        case "binary":
            path.write_bytes(bytes(range(256)) * 40)
        case "empty":
            path.write_bytes(b"")
        case "table":
            path.write_bytes((folder / "clinic.csv").read_bytes())
        case "deep":
            path.write_text("a = " + "[" * 100_000, encoding="utf-8")
        case "json":
            path.write_text('{"format": "reticent certificate", "version": 1, "diagnosis": "HIV-positive"}', "utf-8")
    return path


@pytest.mark.parametrize("kind", ["missing", "folder", "binary", "empty", "table", "deep", "json"])
def test_hostile_files_are_refused_by_every_verb(study: Path, kind: str) -> None:
    path = str(hostile(study.parent, kind))
    commands: dict[tuple[str, ...], int] = {
        ("check", path): 5,
        ("plan", path, *ASK): 5,
        ("rehearse", path, *ASK): 5,
        ("release", path, *ASK): 5,
        ("release", str(study), *ASK, "--key", path): 5,
        ("ledger", "show", path): 5,
        ("ledger", "verify", path): 5,
        ("ledger", "export", path): 5,
        ("ledger", "close", path, "--reason", "x"): 5,
        ("verify", path): 6,
        ("explain", path): 5 if kind == "missing" else 6,
    }
    for command, code in commands.items():
        done = run(*command)
        assert done.code == code or (kind == "deep" and "Nothing was charged" in done.said), (command, done)
        assert done.out == ""
        assert done.err.strip() != ""
        assert "Traceback" not in done.err
        assert leaks([done.out, done.err]) == []
    assert states(study) == []


@pytest.mark.parametrize("name", ["missing.csv", ".", "clinic.toml", "nul\x00byte.csv", "x" * 5000])
def test_a_source_that_is_no_table_is_refused_uncharged(study: Path, name: str) -> None:
    shown = name.replace("\x00", "\\u0000")
    study.write_text(study.read_text("utf-8").replace('"clinic.csv"', f'"{shown}"'), encoding="utf-8")
    done = run("release", str(study), *ASK)
    assert done.code == 5 or "\x00" in name, done
    assert "Traceback" not in done.said
    assert "othing was" in done.said or "No row was read" in done.said
    assert states(study) == []


def test_targets_that_cannot_be_written_are_refused_before_the_charge(study: Path) -> None:
    (study.parent / "busy.csv").mkdir()
    for out in ("busy", "nowhere/table", "clinic.csv/table", "x" * 300):
        done = run("release", str(study), *ASK, "--out", out)
        assert (done.code, "Nothing was charged" in done.said) == (5, True), done
    assert states(study) == []


def test_texts_from_files_cannot_act_on_the_terminal(study: Path) -> None:
    text = study.read_text("utf-8")
    study.write_text(text.replace('"clinic"', '"cli\\u202enic"', 1), encoding="utf-8")
    done = run("release", str(study), *ASK)
    assert done.code == 0
    shown = done.out + done.err + run("ledger", "show", "clinic.ledger").out
    assert "\u202e" not in shown
    assert "cli\N{REPLACEMENT CHARACTER}nic" in shown
    study.write_text(text.replace('"clinic"', '"cli\\u001b[2Jnic"', 1), encoding="utf-8")
    refused = run("release", str(study), *ASK)
    assert refused.code == 5
    assert "\x1b" not in refused.out + refused.err


# --- no data anywhere -------------------------------------------------------------------------------------------------


@pytest.mark.wide
def test_no_value_of_the_table_is_in_any_output_or_file(study: Path) -> None:
    runs: list[Run] = [
        run("init", "clinic.csv", "--out", "new.toml"),
        run("check", str(study)),
        run("plan", str(study), "--release", "table 4"),
        run("rehearse", str(study), "--release", "table 4", "--people", "20"),
        run("release", str(study), "--release", "table 4"),
        run("release", str(study), "--release", "tail", "--json"),
        run("release", str(study), "--ask", "median(cost)", "--ask", "mean(pid)", "--epsilon", "1"),
        run("ledger", "show", str(study)),
        run("ledger", "export", "clinic.ledger"),
        run("explain", "table4.json", "--proof", "--checklist"),
        run("verify", "table4.json", "--ledger", "clinic.ledger"),
    ]
    assert [done.code for done in runs] == [0, 0, 0, 0, 0, 3, 5, 0, 0, 0, 6]
    assert leaks([done.out + done.err for done in runs]) == []
    written = [path for path in study.parent.iterdir() if path.name != "clinic.csv"]
    assert len(written) > 8
    assert leaks([path.read_bytes().decode("utf-8", "replace") for path in written]) == []


def test_the_search_for_values_finds(study: Path) -> None:
    assert leaks([(study.parent / "clinic.csv").read_text("utf-8")]) == list(CANARIES)


# --- faults -----------------------------------------------------------------------------------------------------------


def broken(*_: object, **__: object) -> None:
    raise RuntimeError("row 7: HIV-positive")


@pytest.mark.wide
def test_a_fault_after_the_charge_says_what_stays_spent(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release, "draw", broken)
    done = run("release", str(study), *ASK)
    assert done.code == 70
    assert "A limit on time or memory, or a fault, ended this after the charge; which one is private." in done.said
    assert "ε 0.1 stays spent" in done.said
    assert leaks([done.said]) == []
    assert states(study) == ["failed"]
    told = run("release", str(study), *ASK, "--json").document["error"]
    assert (told["kind"], told["charged"], told["exit"]) == ("fault", "ε 0.1", 70)


def test_an_unexpected_error_in_a_release_claims_nothing_about_the_charge(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Study, "release", broken)
    done = run("release", str(study), *ASK)
    assert done.code == 70
    assert "Whether anything was charged is not known here" in done.said
    assert "RuntimeError" not in done.said
    assert leaks([done.said]) == []
    assert run("release", str(study), *ASK, "--json").document["error"]["charged"] == "unknown"


def test_an_unexpected_error_elsewhere_charged_nothing(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Study, "plan", broken)
    done = run("plan", str(study), *ASK)
    assert done.code == 70
    assert done.said == "Internal fault (RuntimeError). Nothing was charged."


def test_answers_are_printed_where_their_files_cannot_be_written(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("reticent.cli.release.create", full)
    done = run("release", str(study), *ASK)
    assert done.code == 70
    assert "count" in done.out
    assert "ε 0.1 stays spent: what is printed here is the only copy" in done.said
    assert states(study) == ["committed"]


def test_an_interruption_is_told_in_words(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Study, "release", interrupted)
    done = run("release", str(study), *ASK)
    assert done.code == 130
    assert done.said == "Stopped. Nothing was charged."
    monkeypatch.setattr(Study, "plan", interrupted)
    assert run("plan", str(study), *ASK).said == "Stopped. Nothing was charged."


def test_an_interruption_while_the_program_is_read_is_told_in_words() -> None:
    """Ctrl-C in the first third of a second had ended in the lines of an import."""
    script = (
        "import sys, types\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'reticent.cli.app':\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupted())\n"
        "from reticent.cli import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "Stopped. Nothing was charged.\n")


SPENDING = (
    ("release", *ASK),
    ("sql", "SELECT COUNT(*) FROM study", "--epsilon", "0.1"),
    ("synth", "--columns", "age", "--epsilon", "0.1"),
)
FREE = (
    ("check",),
    ("plan", *ASK),
    ("rehearse", *ASK),
    ("audit", *ASK, "--triples", "2"),
    ("sql", "SELECT COUNT(*) FROM study", "--epsilon", "0.1", "--plan"),
)


@pytest.mark.parametrize("typed", SPENDING, ids=lambda typed: typed[0])
@pytest.mark.parametrize(
    ("charged", "said", "found"),
    [(False, "Nothing was charged.", []), (True, "ε 0.1 stays spent.", ["failed"])],
    ids=["before the charge", "after it"],
)
def test_ctrl_c_says_what_every_verb_that_spends_has_charged(
    study: Path, typed: tuple[str, ...], charged: bool, said: str, found: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    if charged:
        monkeypatch.setattr(release, "draw", interrupted)
    else:
        monkeypatch.setattr(Study, "release", interrupted)
    verb, *rest = typed
    done = run(verb, str(study), *rest, "--yes", "--quiet", "--try-anyway")
    assert (done.code, done.said) == (130, f"Stopped. {said}")
    assert states(study) == found


@pytest.mark.parametrize("typed", FREE, ids=lambda typed: f"{typed[0]}{'' if typed[-1] != '--plan' else ' plan'}")
def test_ctrl_c_in_a_free_verb_charges_nothing(
    study: Path, typed: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("reticent.cli.check.warnings", interrupted)
    for name in ("plan", "rehearse", "audit"):
        monkeypatch.setattr(Study, name, interrupted)
    verb, *rest = typed
    done = run(verb, str(study), *rest, "--quiet")
    assert (done.code, done.said) == (130, "Stopped. Nothing was charged.")
    assert states(study) == []


SLOW = (
    *("check", "plan", "rehearse", "release", "sql", "synth", "audit", "compare", "explain", "verify", "demo"),
    *("registry", "doctor", "ledger show", "ledger verify", "survey estimate", "survey check", "survey simulate"),
)


@pytest.mark.parametrize("verb", SLOW)
def test_every_verb_that_may_take_seconds_can_be_quiet(verb: str) -> None:
    assert "--quiet" in run(*verb.split(), "--help").out


@pytest.mark.parametrize("typed", [("check",), ("plan", *ASK), ("rehearse", *ASK), ("ledger show",), ("doctor",)])
def test_a_slow_verb_is_named_at_a_terminal_alone(
    study: Path, typed: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []

    @contextmanager
    def waiting(_: Voice, words: str) -> Iterator[None]:
        told.append(words)
        yield

    assert run("release", str(study), *ASK, "--yes").code == 0
    monkeypatch.setattr(Voice, "waiting", waiting)
    verb, *rest = typed
    done = run(*verb.split(), str(study), *rest)
    assert len(told) == 1
    assert told[0] not in done.err + done.out


@pytest.mark.wide
def test_ctrl_c_while_rows_are_read_says_what_stays_spent(study: Path) -> None:
    with (study.parent / "clinic.csv").open("a", encoding="utf-8") as rows:
        rows.writelines(f"q{place},3,{CANARIES[2]}.5,a\n" for place in range(4_000_000))
    typed = [sys.executable, "-m", "reticent", "release", str(study), *ASK, "--yes"]
    running = subprocess.Popen(
        typed,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert running.stderr is not None
    seen = ""
    while "read" not in seen:
        seen += running.stderr.read(1)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=120)
    assert (running.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "Stopped. ε 0.1 stays spent."
    assert states(study) == ["failed"]


def test_quiet_tells_no_stage(study: Path) -> None:
    assert "reserve" in run("release", str(study), *ASK).err
    done = run("release", str(study), *ASK, "--quiet", "--out", "quiet")
    assert done.code == 0
    assert "reserve" not in done.err


@pytest.mark.wide
def test_quiet_tells_no_stage_of_an_audit(study: Path) -> None:
    asked = ("audit", str(study), "--ask", "count", "--epsilon", "1", "--triples", "3")
    assert "made-up neighbours: as asked … \n" in run(*asked).err
    assert "neighbours" not in run(*asked, "--quiet").err


@pytest.mark.wide
def test_files_of_a_release_and_of_made_up_rows_are_named_by_receipt(study: Path) -> None:
    folder = study.parent / "files"
    folder.mkdir()
    assert run("release", str(study), *ASK, "--pdf", "--out", str(folder)).code == 0
    assert (folder / "r-0001.pdf").read_bytes().startswith(b"%PDF")
    made = run("synth", str(study), "--ask", "density(age)", "--epsilon", "1", "--out", str(folder))
    assert made.code == 0
    assert (folder / "r-0002.csv").read_text("utf-8").startswith("age")
    named = run(
        "synth", str(study), "--ask", "density(age)", "--epsilon", "1", "--out", str(folder / "{receipt}-rows.parquet")
    )
    assert named.code == 0
    assert (folder / "r-0003-rows.parquet").exists()
    assert (folder / "r-0003-rows.json").exists()


# --- streams, and processes of their own ------------------------------------------------------------------------------


@pytest.mark.wide
def test_results_and_messages_have_their_own_streams(study: Path) -> None:
    done = streamed("release", str(study), *ASK)
    assert (done.code, done.out.startswith("clinic\n")) == (0, True)
    assert "reserve … read … draw … commit" in done.err
    assert "guarantee" in done.out
    assert "\x1b" not in done.out + done.err
    refused = streamed("release", str(study), "--ask", "mean(agee)", "--epsilon", "1", "--out", "b")
    assert (refused.code, refused.out) == (5, "")
    assert refused.err.startswith("There is no column 'agee'")


@pytest.mark.wide
def test_a_terminal_without_our_letters_gets_escapes(study: Path) -> None:
    done = streamed("release", str(study), *ASK, encoding="ascii")
    assert done.code == 0
    assert "\\u03b5" in done.out
    assert states(study) == ["committed"]


@pytest.mark.wide
def test_a_reader_that_went_away_is_no_fault(study: Path) -> None:
    command = [sys.executable, "-m", "reticent", "explain"]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, timeout=60, check=False)
    os.close(writing)
    assert done.stderr == b""
    assert done.returncode == 0


@pytest.mark.wide
def test_a_full_or_closed_output_loses_no_files(study: Path) -> None:
    shell = f"{sys.executable} -m reticent release clinic.toml --ask count --epsilon 0.1 --out"
    full = subprocess.run(f"{shell} full >/dev/full", shell=True, capture_output=True, text=True, check=False)
    assert full.returncode == 70
    assert full.stderr.splitlines()[1:] == [
        "What was released could not be printed; look at its files. ε 0.1 stays spent."
    ]
    closed = subprocess.run(f"{shell} closed <&- >&- 2>&-", shell=True, check=False)
    assert closed.returncode == 0
    assert states(study) == ["committed", "committed"]
    assert (study.parent / "full.json").exists()
    assert (study.parent / "closed.json").exists()


@pytest.mark.parametrize("typed", [("init", "."), ("init", "/"), ("explain", "x" * 5000), ("verify", "x" * 5000)])
def test_names_that_are_no_files_are_refused(typed: tuple[str, ...]) -> None:
    done = run(*typed)
    assert (done.code, "Traceback" in done.said) == (6 if typed[0] == "verify" else 5, False)


@pytest.mark.wide
@pytest.mark.parametrize(("answer", "code", "found"), [("n", 130, []), ("y", 0, ["committed"])])
def test_a_terminal_is_shown_the_price_and_asked(study: Path, answer: str, code: int, found: list[str]) -> None:
    done = streamed("release", str(study), *ASK, answer=answer)
    assert done.code == code, done
    assert "± noise" in done.err
    assert "Release, and spend ε 0.1? [y/N]" in done.err
    assert states(study) == found


@pytest.mark.wide
def test_the_command_line_starts_without_an_engine() -> None:
    program = (
        "import sys; sys.argv = ['reticent', '--help']\n"
        "from reticent.cli import main\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code\n"
        "heavy = {'ibis', 'duckdb', 'pandas', 'polars', 'matplotlib', 'pyarrow', 'scipy', 'sqlglot', 'dp_accounting'}\n"
        "print(sorted(heavy & {name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    assert "Publish statistics about people" in done.stdout


def test_the_version_is_told() -> None:
    assert run("--version").out.startswith("reticent 0.")
