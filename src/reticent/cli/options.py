"""Options that several verbs share, and how their texts are read."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import click

from reticent.cli.exit_codes import UserAbort
from reticent.cli.output import clean
from reticent.cli.parser import AT_LEAST_ONE, PATH, PLACE, STEM, argument
from reticent.errors import QuestionError, SpecError
from reticent.privacy.numbers import read
from reticent.study.memory import open as open_study

if TYPE_CHECKING:
    from reticent.cli.output import Voice
    from reticent.data.spec import ReleaseSpec
    from reticent.study.plan import Plan
    from reticent.study.study import Study


def completes(names: str) -> Callable[[click.Context, click.Parameter, str], list[Any]]:
    """Complete what a shell has of a parameter, by a function of ``completed_names``, which is loaded then."""

    def found(context: click.Context, _: click.Parameter, typed: str) -> list[Any]:
        from reticent.cli import completed_names

        known = {one.__name__: one for one in completed_names.ALL}
        return known[names](context, typed)

    return found


study = argument(
    "study",
    type=PATH,
    metavar="STUDY",
    help="The study file, such as rand.toml.",
    shell_complete=completes("study_files"),
)
ledger = argument("ledger", type=PLACE, metavar="LEDGER", help="A ledger, or the study file that names it.")
# Read before the parser runs, so that its own refusals are told as JSON too.
as_json = click.option("--json", is_flag=True, expose_value=False, help="One JSON object on standard output.")
_named = click.option(
    "--release",
    "named",
    metavar="NAME",
    help="A release of the study file, by its name.",
    shell_complete=completes("releases"),
)
_ask = click.option(
    "--ask",
    multiple=True,
    metavar="QUESTION",
    help='Ask this, such as "mean(x)". May be repeated.',
    shell_complete=completes("columns"),
)
epsilon = click.option("--epsilon", metavar="NUMBER", help="Total cost, instead of the study file's.")
delta = click.option("--delta", metavar="NUMBER", help="δ, where something needs it.")
rho = click.option("--rho", metavar="NUMBER", help="The cost in zCDP, instead of epsilon.")
people = click.option("--people", type=AT_LEAST_ONE, metavar="NUMBER", help="How many people a plan assumes.")


def _average(context: click.Context, option: click.Parameter, typed: str | None) -> str | None:
    """The typed number of rows; "auto" is a cap, which the study file declares."""
    if typed == "auto":
        raise QuestionError(
            "--rows is how many rows of a person a plan assumes, on average. A cap that each release chooses stands in "
            'the study file: [person] rows = { at_most = "auto" }. Nothing was charged.'
        )
    return typed


rows = click.option(
    "--rows", metavar="NUMBER", callback=_average, help="Rows of a person that a plan assumes, on average."
)
passing = click.option("--passing", metavar="SHARE", help="Share of rows that pass a filter, or have a value.")


@dataclass(frozen=True, slots=True)
class PublicGuess:
    """The options by which a verb is told the public numbers that its plan supposes, as typed."""

    people: int | None = None
    rows: str | None = None
    passing: str | None = None

    def plan(self, study: Study, item: ReleaseSpec, want: Mapping[str, float] | None = None) -> Plan:
        """The plan of a release at these public numbers, with the half-widths that were typed besides.

        Parameters
        ----------
        study : Study
        item : ReleaseSpec
        want : dict of name to half-width, optional

        Returns
        -------
        Plan

        Raises
        ------
        Refusal
            As the release would be refused.
        """
        wanted = {**item.want, **(want or {})}
        passing = item.passing if self.passing is None else self.passing
        return (study if passing is None else study.passing(passing)).plan(
            list(item.ask),
            epsilon=item.epsilon,
            rho=item.rho,
            delta=item.delta,
            people=self.people,
            rows=self.rows,
            want=wanted or None,
            override=item.override or study.spec.budget.override,
        )


def supposed(verb: Callable[..., None]) -> Callable[..., None]:
    """Declare the options of a ``PublicGuess``, which the verb takes as one parameter of that name."""

    @functools.wraps(verb)
    def called(*given: Any, **typed: Any) -> None:
        verb(*given, supposed=PublicGuess(*(typed.pop(field.name) for field in fields(PublicGuess))), **typed)

    for option in (passing, rows, people):
        called = option(called)
    return called


extensions = click.option(
    "--with",
    "extensions",
    multiple=True,
    metavar="MODULE",
    help="Statistics and mechanisms of your own: a module, or a path FILE.py. Its code is run. May be repeated.",
)

engine = click.option(
    "--engine",
    multiple=True,
    metavar="WORD",
    help="A name, or a word of [engine], such as memory=4GB.",
)

out_stem = click.option(
    "--out",
    "-o",
    type=STEM,
    metavar="STEM",
    help="Write STEM.csv, .json, .html, .svg; by receipt where it is a folder.",
)
try_anyway = click.option("--try-anyway", is_flag=True, help="Go on where an answer would most likely be no reply.")
request_id = click.option("--request-id", metavar="ID", help="Ask again under this id: the stored answer, unpaid.")
quiet = click.option("--quiet", is_flag=True, expose_value=False, help="Tell no stages and draw no progress.")


def waits(words: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Draw ``words`` and a clock at a terminal while a verb without stages takes over two seconds.

    It stands below ``click.pass_obj``; the verb has ``--quiet`` too.
    """

    def told(verb: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(verb)
        def called(voice: Voice, *given: Any, **typed: Any) -> None:
            with voice.waiting(words):
                verb(voice, *given, **typed)

        return called

    return told


yes = click.option("--yes", is_flag=True, help="Do not ask at a terminal.")


@dataclass(frozen=True, slots=True)
class Request:
    """The options by which a verb is told what to ask, as typed: a release by its name, or questions; and the cost."""

    named: str | None
    ask: tuple[str, ...]
    epsilon: str | None
    delta: str | None
    rho: str | None

    @property
    def empty(self) -> bool:
        """True if none of them was typed."""
        return not self.ask and all(given is None for given in (self.named, self.epsilon, self.delta, self.rho))

    def release(self, study: Study) -> ReleaseSpec:
        """The release meant: one of the study file, or one made of ``--ask``; costs that were typed come first."""
        from reticent.data.spec import ReleaseSpec

        if self.named is not None and self.ask:
            raise click.BadParameter("Give --release or --ask, not both.")
        return self.at_cost(ReleaseSpec("", self.ask) if self.ask else study.named(self.named))

    def at_cost(self, found: ReleaseSpec) -> ReleaseSpec:
        """A release at the costs that were typed."""
        if self.epsilon is not None or self.rho is not None:
            found = replace(
                found,
                epsilon=None if self.epsilon is None else read(self.epsilon, "epsilon"),
                rho=None if self.rho is None else read(self.rho, "rho"),
            )
        return found if self.delta is None else replace(found, delta=read(self.delta, "delta"))


def request(verb: Callable[..., None]) -> Callable[..., None]:
    """Declare the options of a ``Request``, which the verb takes as one parameter of that name."""

    @functools.wraps(verb)
    def called(*given: Any, **typed: Any) -> None:
        verb(*given, request=Request(*(typed.pop(field.name) for field in fields(Request))), **typed)

    for option in (rho, delta, epsilon, _ask, _named):
        called = option(called)
    return called


def study_of(path: Path, extensions: Sequence[str] = (), engine: Sequence[str] = ()) -> Study:
    """The study of a file, with the modules that ``--with`` names, and the words of ``--engine`` over its own.

    Parameters
    ----------
    path : Path
        The study file.
    extensions : sequence of str
        Modules, as typed.
    engine : sequence of str
        A name, or words of [engine] with their values, as typed.

    Returns
    -------
    Study

    Raises
    ------
    Refusal
        Before any row is read.
    """
    return _engaged(open_study(path, extensions=modules_of(extensions)), engine)


def modules_of(names: Sequence[str]) -> tuple[ModuleType, ...]:
    """The modules that ``--with`` names, imported in order.

    A dotted name is imported as Python finds it; a path that ends in .py is run as a module of its stem. The current
    folder is not searched by a name: a file that lies there is run where its path is given and not otherwise.

    Raises
    ------
    click.BadParameter
        A module that is not there, cannot be imported, or has a name that another one has.
    """
    return tuple(_module_at(Path(name)) if name.endswith(".py") else _module_named(name) for name in names)


def _module_named(name: str) -> ModuleType:
    if not all(part.isidentifier() for part in name.split(".")):
        raise click.BadParameter(f"--with needs the name of a module or a path FILE.py, got '{name[:80]}'.")
    try:
        return import_module(name)
    except ModuleNotFoundError as missing:
        beside = f" For a file in this folder: --with ./{name}.py." if Path(f"{name}.py").is_file() else ""
        raise click.BadParameter(f"There is no module {missing.name or name} here.{beside}") from None
    except Exception as error:
        raise click.BadParameter(f"{name} cannot be imported: {type(error).__name__}.") from None


def _module_at(path: Path) -> ModuleType:
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


def _engaged(study: Study, texts: Sequence[str]) -> Study:
    """The study with these words of [engine] in the place of its own; ``temp`` is relative to the working folder."""
    if not texts:
        return study
    from reticent.data.engines.engine import check_place, limited, read_engine

    words: dict[str, str | int] = {}
    for text in texts:
        word, mark, value = (part.strip() for part in text.partition("="))
        word, value = (word, value) if mark else ("name", word)
        if not value:
            raise click.BadParameter(
                f"--engine needs a name or a word with its value, such as memory=4GB, got '{text}'."
            )
        if word in words:
            raise click.BadParameter(f"--engine says {word} twice.")
        words[word] = int(value) if word == "threads" and re.fullmatch("[0-9]{1,6}", value) else value
    name, found = read_engine(words, Path().resolve(), "--engine")
    name = name or study.spec.engine
    check_place(study.spec.source, name)
    given = {word: getattr(found, word) for word in words if word not in ("name", "partitions")}
    limits = limited(study.spec.limits, given)
    if "partitions" in words:
        limits = replace(limits, partitions=found.partitions)
    return replace(study, spec=replace(study.spec, engine=name, limits=limits))


def widths(texts: Sequence[str]) -> dict[str, float] | None:
    """``["mean(x)=0.02"]`` as a mapping; the name may itself hold ``=``."""
    if not texts:
        return None
    found = {}
    for text in texts:
        name, mark, number = text.rpartition("=")
        try:
            found[name.strip()] = float(number)
        except ValueError:
            mark = ""
        if not mark or not name.strip():
            raise click.BadParameter(
                f"--want needs a question and a half-width, such as \"mean(x)=0.02\", got '{text}'."
            )
    return found


def stem_of(name: str) -> str:
    """``table 4`` gives ``table4``, ``Public use file`` gives ``public-use-file``, no name gives ``answers``."""
    plain = "-".join(re.findall(r"\w+", name.lower()))
    return re.sub(r"-(?=\d)", "", plain).encode()[:100].decode(errors="ignore") or "answers"


def confirm(question: str, *, yes: bool) -> None:
    """Ask at a terminal; elsewhere, or with ``--yes``, go on.

    Raises
    ------
    Stopped
        When the answer is not yes.
    """
    if yes or not sys.stdin.isatty():
        return
    sys.stderr.write(f"{clean(question)} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UserAbort


def write_new(path: Path, text: str, *, hint: str = "Name another file.") -> None:
    """Write a file that is not there yet.

    Parameters
    ----------
    path : Path
        File to create.
    text : str
        Content.
    hint : str
        Advice at the end of the refusal.

    Raises
    ------
    SpecError
        When it exists, or cannot be written.
    """
    from reticent.atomic_file import create

    try:
        create(path, text.encode())
    except FileExistsError:
        raise SpecError(f"{path} exists and is not overwritten. {hint}") from None
    except OSError:
        raise SpecError(f"{path} cannot be written: check that its folder exists and is yours.") from None


def ledger_place(place: str | Path) -> str:
    """The ledger meant by a ledger file, its URL or a study file."""
    from reticent.database_url import is_url

    path = Path(place)
    if path.suffix.lower() != ".toml" or is_url(place):
        return str(place)
    from reticent.data.study_file import read_spec

    named = read_spec(path).ledger
    if named is None:
        raise QuestionError(f'{path.name} names no ledger. Add [study] ledger = "{path.stem}.ledger".')
    return named
