"""One tree of exceptions. No message ever holds a data value, a row count or an engine's text.

    ReticentError
    ├── Refusal                nothing was read and nothing was charged
    │   ├── PublicParameterError   a number the caller gave is out of range or not exact
    │   ├── SpecError              the study file, a schema or a source cannot be used
    │   ├── QuestionError          the question cannot be asked of this study
    │   ├── BudgetError            the ledger has too little left
    │   └── LedgerError            the ledger file cannot be used (locked, damaged, another study's)
    ├── NoReplyError           a value was asked of an answer that is no reply
    ├── CheckError             a certificate, ledger or signature does not verify
    └── Fault                  something failed after the charge: the charge stays, nothing is shown

A ``Refusal`` comes before any row is read. After that there are a reply, a no reply, or one ``Fault``
whose text is constant but for its reference, and which was charged.
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, fields
from types import FrameType, FunctionType, UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Literal,
    ParamSpec,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

P = ParamSpec("P")
T = TypeVar("T")

_MARKS: Final = ("__array__", "__dataframe__", "__arrow_c_stream__", "__arrow_c_array__")  # of what holds rows
_HELD: Final = (list, tuple, set, frozenset, dict)
_OF_ROWS: Final = "self", "rows", "X", "y", "sample_weight", "answers", "covariates"  # y where X is one
_EXPLAINED: Final = ("adjacency",)  # its own refusal says what each word means
SHORT_LIST: Final = 4  # numbers or texts that a message quotes, such as two bounds
NAMED: Final = 12  # names that a message lists
TOLD: Final = ("charged", "spent", "Nothing was read", "No row was read")  # words that say already what was charged


class ReticentError(Exception):
    """Base of every exception this package raises on purpose.

    Its words are whole: a traceback shows no exception that was handled on the way, unless ``from`` names it.
    """

    def __init__(self, *words: object) -> None:
        super().__init__(*words)
        self.__suppress_context__ = True


class Refusal(ReticentError):
    """The request was declined before any row was read; nothing was charged."""


class PublicParameterError(Refusal, ValueError):
    """A public number is out of range, or is not exact enough for a guarantee to rest on."""


class SpecError(Refusal):
    """A study file, schema or source cannot be used as written, for one problem or several."""

    def __init__(self, *problems: str) -> None:
        problems = tuple(dict.fromkeys(problems))  # several questions can have one problem
        self.problems = problems
        shown = "".join(f"\n  {problem}" for problem in problems[:NAMED])
        more = f"\n  and {len(problems) - NAMED} more" if len(problems) > NAMED else ""
        super().__init__(problems[0] if len(problems) == 1 else f"There are {len(problems)} problems.{shown}{more}")


class QuestionError(Refusal):
    """The question does not fit the study: unknown column, missing bounds, undeclared groups.

    ``instead`` holds questions in its words that ask for less; a study names those that it accepts.
    """

    def __init__(self, *words: object, instead: tuple[str, ...] = ()) -> None:
        super().__init__(*words)
        self.instead = instead


class BudgetError(Refusal):
    """The ledger's remaining budget does not cover the charge."""


class LedgerError(Refusal):
    """The ledger file is missing, damaged, busy, or belongs to another study."""


class NoReplyError(ReticentError):
    """An answer is *no reply*, so it has no value, no interval and no parts."""


class CheckError(ReticentError):
    """A certificate, a signature or a ledger failed its verification."""


def first_of(names: Iterable[object], most: int = NAMED) -> str:
    """Names with commas for a message: the first ones, and how many others there are, since a table may have hundreds.

    ``names`` are public, and so is their number.
    """
    listed = [str(name) for name in names]
    return ", ".join(listed[:most]) + (f" and {len(listed) - most:,} more" if len(listed) > most else "")


def in_list(name: object) -> str:
    """A name as it stands in a list: one with a comma in it has quotation marks."""
    return f'"{name}"' if "," in str(name) else str(name)


def uncharged(words: str) -> str:
    """The words of a refusal, with "Nothing was charged." at their end unless they say what was."""
    if any(piece in words for piece in TOLD):
        return words
    return f"{words if words.endswith(('.', '?', '!')) else f'{words}.'} Nothing was charged."


@contextmanager
def refusing() -> Iterator[None]:
    """Whatever is refused inside, where a study is asked, says that nothing was charged; a ledger says it itself."""
    try:
        yield
    except LedgerError:
        raise  # of a disk that failed nobody knows what it took
    except Refusal as refusal:
        refusal.args = (uncharged(str(refusal)),)
        raise


Wording: TypeAlias = "Callable[[object, ReticentError], None]"  # changes the words of what an object raised


def door(call: Callable[P, T], word: Wording | None = None) -> Callable[P, T]:
    """Raise what is meant for a caller where they called, without the frames that led to it; a fault of ours has all.

    Parameters
    ----------
    call : function
        A public one.
    word : function, optional
        Of the first argument and what was raised.

    Returns
    -------
    function
        The same, whose errors of this module have no frame below it. Arguments that it does not take are a TypeError
        that names what takes them. A word that is none of those that an argument is declared to take is refused with
        their list, before the call.
    """

    @functools.wraps(call)
    def opened(*given: P.args, **named: P.kwargs) -> T:
        try:
            if words := _misnamed(call, given, named):
                raise PublicParameterError(words)
            return call(*given, **named)
        except ReticentError as told:
            if word is not None:
                word(given[0] if given else None, told)
            _quote_no_rows(told, _public(call, given, named).values())
            raise told.with_traceback(None) from told.__cause__
        except (TypeError, ValueError, AttributeError) as problem:
            if isinstance(problem, TypeError) and (words := _misfit(call, given, named)):
                raise TypeError(words) from None
            if words := _misplaced(call, given, named):
                raise PublicParameterError(words) from None
            raise

    return opened


def _public(call: Callable[..., object], given: tuple[object, ...], named: dict[str, object]) -> dict[str, object]:
    """The arguments by name, but for those where rows belong: no text of them is made, as a relation would run."""
    import inspect

    declared = inspect.signature(call)
    try:
        takes = declared.bind_partial(*given, **named).arguments
    except TypeError:  # a call that does not fit is refused before it sees rows
        return {**{str(place): one for place, one in enumerate(given)}, **named}
    numbers = {name for name in takes if "int" in str(declared.parameters[name].annotation)}  # rows to make up
    of_rows = {*_OF_ROWS} - numbers - ({"y"} if "X" not in takes else set())
    return {name: one for name, one in takes.items() if name not in of_rows}


def _texts_of(given: object) -> tuple[str, ...]:
    """The texts of an argument that can hold rows; none where it has none, since an error of its own quotes cells."""
    try:
        return repr(given), str(given)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # Polars raises one that is no Exception
        return ()


def _quote_no_rows(told: ReticentError, given: Iterable[object]) -> None:
    """Replace what a message quotes of an argument that can hold rows by the argument's type.

    Rows reach a message where a column itself stands for its name. Every door does this, whoever wrote the message.
    """
    one: Any
    for one in given:
        held = isinstance(one, _HELD)
        if not (held and one) and not _is_marked(one):
            continue
        if isinstance(one, dict) or (hasattr(one, "columns") and hasattr(one, "items")):
            _quote_no_rows(told, [part for _, part in one.items()])
        elif held:
            _quote_no_rows(told, one)
        if held and not isinstance(one, dict) and len(one) <= SHORT_LIST and not any(map(_can_hold, one)):
            continue
        if held and not any(str(next(iter(one))) in str(words) for words in told.args):
            continue  # nothing of it is quoted: its text may be long
        kind = _kind_of(one)
        for text in _texts_of(one):
            for quoted in (f"'{text}'", text, f"{text[:60]!r}", text[:60]):
                told.args = tuple(str(words).replace(quoted, kind) for words in told.args)
                if isinstance(told, SpecError):
                    told.problems = tuple(problem.replace(quoted, kind) for problem in told.problems)


def _can_hold(given: object) -> bool:
    """Tell if an argument is a list, a record, an array, a column or a table."""
    return isinstance(given, _HELD) or _is_marked(given)


def _is_marked(given: object) -> bool:
    """Tell if an argument is an array, a column or a table of a library; one number or text of NumPy is none."""
    holds = not isinstance(given, type) and getattr(given, "ndim", 1) != 0
    return holds and any(hasattr(given, mark) for mark in _MARKS)


def _kind_of(given: object) -> str:
    """The type of an argument, with its article: ``a Series``, ``an ndarray``."""
    name = type(given).__name__
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"


def quoted(given: object) -> str:
    """A text, a number, a truth value or None as it is written; of anything else its type, since it may hold rows."""
    if given is None or type(given) in (bool, int, float):
        return repr(given)
    return f"{given[:60]!r}" if isinstance(given, str) else _kind_of(given)


def _misplaced(call: Callable[..., object], given: tuple[object, ...], named: dict[str, object]) -> str:
    """Words for a column or a table that stands where a public value is wanted; empty where none does."""
    for name, one in _public(call, given, named).items():
        if _is_marked(one):
            return f"{name} is public, and got {_kind_of(one)}. Rows stand in the study alone: name columns by text."
    return ""


def _misnamed(call: Callable[..., object], given: tuple[object, ...], named: dict[str, object]) -> str:
    """Words for an argument that is none of the words its parameter is declared to take; empty where there is none."""
    if call.__name__ == "__init__" or not (listed := _listed_words(call)):  # a class checks its own fields
        return ""
    for name, (place, known) in listed.items():
        one = named[name] if name in named else given[place] if place < len(given) else known[0]
        if not (isinstance(one, str) and one in known) and not (one is None and None in known):
            import difflib

            words = [word for word in known if word is not None]
            near = difflib.get_close_matches(one, words, n=1) if isinstance(one, str) else []
            meant = f' Did you mean "{near[0]}"?' if near else ""
            listing = ", ".join(f'"{word}"' for word in words)
            return f"{name} is one of {listing}, got {quoted(one)}.{meant} Nothing was charged."
    return ""


@functools.cache
def _listed_words(call: Callable[..., object]) -> dict[str, tuple[int, tuple[str | None, ...]]]:
    """Parameters declared to take one of a list of words, None among them or not: their places and words."""
    import inspect

    found = {}
    within = getattr(inspect.unwrap(call), "__globals__", {})
    for place, (name, one) in enumerate(inspect.signature(call).parameters.items()):
        declared = one.annotation
        if isinstance(declared, str):
            try:
                declared = get_type_hints(type("One", (), {"__annotations__": {name: declared}}), within)[name]
            except (NameError, TypeError, AttributeError):  # a type that only checkers import
                continue
        words = _words_in(declared)
        if any(words) and name not in _EXPLAINED:
            last = place if one.kind is not one.KEYWORD_ONLY else sys.maxsize
            found[name] = (last, words)
    return found


def _words_in(declared: object) -> tuple[str | None, ...]:
    """Words of a type that has no values but listed ones, and None; empty for any other type."""
    if declared is None or declared is type(None):
        return (None,)
    if get_origin(declared) is Literal:
        words = get_args(declared)
        return words if all(isinstance(word, str) for word in words) else ()
    if get_origin(declared) in (Union, UnionType):
        parts = [_words_in(part) for part in get_args(declared)]
        return tuple(word for part in parts for word in part) if all(parts) else ()
    return ()


def doors(of: type, word: Wording | None = None) -> None:
    """Make every public method that a class defines a ``door``, brackets among them."""
    for name, found in list(vars(of).items()):
        if isinstance(found, FunctionType) and (name == "__getitem__" or not name.startswith("_")):
            setattr(of, name, door(found, word))


def called_as(example: str, name: str = "", word: Wording | None = None) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """A decorator for a ``door`` of ``rt``: arguments that are lacking or not known are refused with an example.

    Parameters
    ----------
    example : str
        A call that works.
    name : str
        By default that of the function.
    word : function, optional
        As of ``door``.

    Returns
    -------
    function
        The decorator.

    Raises
    ------
    PublicParameterError
        By what it decorates, for arguments that are lacking or not known.
    """

    def of(call: Callable[P, T]) -> Callable[P, T]:
        @functools.wraps(call)
        def called(*given: P.args, **named: P.kwargs) -> T:
            try:
                return call(*given, **named)
            except TypeError:
                _refuse_arguments(call, f"rt.{name or call.__name__}", example, given, named)
                raise

        return door(called, word)

    return of


def made_as(example: str) -> Callable[[type[T]], type[T]]:
    """A decorator for a class of ``rt`` that callers make values of: its constructor is ``called_as`` the example."""

    def of(made: type[T]) -> type[T]:
        made.__init__ = called_as(example, made.__name__)(made.__init__)  # type: ignore[method-assign]  # of it alone
        return made

    return of


def _refuse_arguments(
    call: Callable[..., object], name: str, example: str, given: tuple[object, ...], named: dict[str, object]
) -> None:
    import difflib
    import inspect

    takes = inspect.signature(call)
    try:
        takes.bind(*given, **named)
    except TypeError as problem:
        options = [option for option, one in takes.parameters.items() if one.kind is one.KEYWORD_ONLY]
        odd = next((option for option in named if option not in takes.parameters), "")
        near = difflib.get_close_matches(odd, [*takes.parameters][len(given) :], n=1)
        meant = f" Did you mean {near[0]}=?" if near else ""
        others = f" Others by their names: {', '.join(options)}." if options else ""
        raise PublicParameterError(f"{name}: {problem}.{meant} Write {example}.{others}") from None


def _misfit(call: Callable[..., object], given: tuple[object, ...], named: dict[str, object]) -> str:
    """Words for arguments that a public function does not take; empty where it takes them."""
    import inspect

    takes = inspect.signature(call)
    try:
        takes.bind(*given, **named)
    except TypeError as problem:
        of = type(given[0]) if given and type(given[0]).__module__.startswith(__name__.partition(".")[0]) else None
        own = dict([*takes.parameters.items()][of is not None :])
        alone = [name for name, one in own.items() if one.kind is one.POSITIONAL_OR_KEYWORD]
        options = [f"{name}=" for name, one in own.items() if one.kind is one.KEYWORD_ONLY]
        others = f" Others by their names: {', '.join(options)}." if options else ""
        odd = next((name for name in named if name not in own), "")
        told = f"{problem}.{others}"
        if odd:
            within = next((type(one).__name__ for one in given[of is not None :] if odd in _options_of(type(one))), "")
            belongs = f" {within}({odd}=…) takes it." if within else _taken_by(odd, call, [*own], of)
            told = f"has no {odd}=.{belongs or others}"
        elif len(given) - (of is not None) > len(alone):
            told = f"takes {' and '.join(alone) or 'nothing'} without a name, and no more.{others}"
        return f"{call.__name__} {told} Nothing was charged."
    return ""


def _options_of(kind: type) -> Collection[str]:
    """Names of the arguments that a class is made with; none of a class of Python or of another package."""
    import inspect

    return inspect.signature(kind).parameters if kind.__module__.startswith(__name__.partition(".")[0]) else ()


def _taken_by(odd: str, call: Callable[..., object], own: list[str], of: type | None) -> str:
    """Words for where an unknown option belongs: to another method of ``of``, or under a name near it."""
    import difflib
    import inspect

    if of is not None:
        who = of.__name__.lower()
        found = {name: getattr(of, name, None) for name in dir(of) if not name.startswith("_")}
        public = {name: one for name, one in found.items() if inspect.isfunction(one)}
        if odd in public:
            return f" {who}.{odd}(…) says it."
        takers = [name for name, one in public.items() if odd in inspect.signature(one).parameters]
        # synthesize has synthesis_plan, sessions session_plan
        kin = {call.__name__[:7], *(room[:7] for room in call.__module__.split(".")[1:])}
        nearest = [name for name in takers if name[:7] in kin] or [name for name in takers if name == "plan"] or takers
        if nearest:
            listed = ", ".join(f"{who}.{name}" for name in nearest)
            return f" {listed} {'take' if nearest[1:] else 'takes'} it."
    near = difflib.get_close_matches(odd, own, n=1)
    return f" Did you mean {near[0]}=?" if near else ""


def bare(cause: BaseException) -> BaseException:
    """An interrupt without where it struck: the frames it passed hold private rows, and a debugger would show them."""
    cause.__context__ = cause.__cause__ = None
    return cause.with_traceback(None)


class Fault(ReticentError):
    """A limit or an internal fault after the charge. The charge stays; the text is constant but for the reference."""

    def __init__(self, reference: str, charged: str) -> None:
        self.reference = reference
        self.charged = charged
        super().__init__(
            f"A limit on time or memory, or a fault, ended this after the charge; which one is private. {charged} "
            f"stays spent: part of an answer may have existed. Reference {reference}. The cause is in the curator's "
            "protected log, if one was set up."
        )


def at_terminal() -> bool:
    """True if standard error is a terminal, whose reader may know facts about rows."""
    try:
        return bool(sys.stderr.isatty())
    except (AttributeError, ValueError, OSError):  # none, a writer of a log, a closed file
        return False


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line that called this package, however many of its own calls lie between."""
    between = (__name__.partition(".")[0], "contextlib")  # decorators of the latter lie between two of ours
    frame: FrameType | None = sys._getframe(0)
    depth = 1
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in between:
        frame, depth = frame.f_back, depth + 1
    warnings.warn(text, category, stacklevel=depth)


# --- pickles ----------------------------------------------------------------------------------------------------------


def _restore(value: DataclassInstance, state: Sequence[object]) -> None:
    """Fill a value from its pickled fields; one that a later version added at the end has its default."""
    for place, one in enumerate(fields(value)):
        default = one.default_factory() if one.default_factory is not MISSING else one.default
        object.__setattr__(value, one.name, state[place] if place < len(state) else default)


def restored(made: type[T]) -> type[T]:
    """Class decorator for a frozen class with slots whose pickles people keep: fields added since have their defaults.

    It stands above ``dataclass``, which has one of its own take the place of a method, in Python before 3.11.4. A class
    whose pickles hold something else has ``_fill`` for them.
    """
    made.__setstate__ = getattr(made, "_fill", _restore)  # type: ignore[attr-defined]
    return made
