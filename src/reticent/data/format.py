"""Format of text: how a source writes numbers and missing values, in which encoding, and what a name may hold.

    Format(encoding, decimal, thousands, na, symbols=…)    public, declared once for a study
    exact(name)                                 the text of a name, as a plain str
    check_plain_names(names, where)             refuse names that are too long or hold a line end
    check_one_line(names, where)                the second alone: an expression in place of a column may be long
    check_title(text, where)                    the same for a title
    plain(text)                                 text as it is shown: nothing in it acts instead of being seen

Numbers are read as the format says and not otherwise: with ``thousands = ","`` the texts 1977.61 and 1,977.61 are the
same number and 19,77 is none. With ``symbols = ("€",)`` so is 1977.61 €. Every text is a number or it is not, and none
makes a reader fail. ``casts.number`` does the same in the engine, and a test compares the two on hostile texts.

A line end in a name would forge a line of every printed table. A subclass of str can have one text for the check and
another for the print, so that names are kept as plain str.
"""

from __future__ import annotations

import codecs
import difflib
import glob
import json
import math
import os
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Final

from reticent.errors import PublicParameterError, SpecError, restored

LATIN: Final = frozenset(f"iso8859-{part}" for part in (*range(1, 12), *range(13, 17)))
ENCODINGS: Final = frozenset({"utf-8", "ascii", "mac-roman", "koi8-r", "koi8-u"}) | LATIN
WINDOWS: Final = frozenset(f"cp{page}" for page in range(1250, 1259))
SPACES: Final = " \u00a0\u202f"
MARKS: Final = "'\u2019"
THOUSANDS: Final = {"": "", ",": ",", ".": ".", "_": "_", "'": MARKS, " ": SPACES}
LONGEST_WORD: Final = 128
MOST_WORDS: Final = 100
BLANK: Final = r"[ \t\r\n]*"
OF_NUMBERS: Final = frozenset("0123456789.,_'\u2019 \u00a0\u202f\teinfty")  # what a number is written with, signs apart
GAP: Final = f"[{SPACES}\t]*"  # between a symbol and its number
PLURALS: Final = (
    *("years", "months", "weeks", "days", "hours", "minutes", "seconds", "visits", "persons", "rows"),
    *("dollars", "euros", "pounds", "miles", "kilometres", "metres"),
)
YEARS: Final = range(1000, 3000)
LONGEST_SYMBOL: Final = 8
MOST_SYMBOLS: Final = 20
WRITTEN: Final = ("delimiter", "encoding", "decimal", "thousands", "na", "symbols")  # options of how a file is written
LONG: Final = 10**19  # beyond the whole numbers that files and databases hold as such
LONGEST_NAME: Final = 128
MOST_THREADS: Final = 1024
LONGEST_TIMEOUT: Final = 10**7  # seconds
SET: Final = 2_500_000  # rows of the persons who are looked at together
MOST_SETS: Final = 8  # each of them is one more scan
NAMED_EDGES: Final = 64  # edges of bins, at most, that a statement names; of more it names every so manyth
SCANS: Final = frozenset({"duckdb", "spark"})  # engines that scan a column fast: PostgreSQL calls a function for a sum
LISTED_EDGES: Final = 1 << 12  # the same that a table lists; of more the engine gives values with their counts
LONGEST_TITLE: Final = 2_000
LONGEST_SHEET: Final = 31  # which Excel sets
TURNS: Final = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
BREAKS: Final = ("Cc", "Zl", "Zp")  # categories of Unicode: control characters, ends of a line or paragraph
NO_TEMP: Final = "[engine] temp must be a folder that this program may write to."
NO_PARTITIONS: Final = (
    '[engine] partitions = "{0}" needs Parquet files in folders of that name, such as source = '
    '"visits/{0}=*/*.parquet".'
)
NOT_PARTED: Final = (
    "[engine] partitions needs each row to be another person, and no further table: who has rows in several "
    "partitions is capped over all of them, which takes all rows. Leave partitions out: all rows are read, and "
    'answers are the same. If each row is another person, write rows = "one_each".'
)
BYTES: Final = {"MB": 10**6, "GB": 10**9, "TB": 10**12}
LEAST_MEMORY: Final = 50 * BYTES["MB"]  # twice what counts and sums of two million rows by a thousand keys took
TIGHT: Final = (
    "[engine] memory of {} is too little for a table of any length. Write 50MB or more, or leave it out: rows that "
    "take more wait in temporary files."
)


@restored
@dataclass(frozen=True, slots=True)
class Limits:
    """Resources of one run, all public and set before the charge.

    Attributes
    ----------
    memory, spill : str
        Of the engine in this process and of its temporary files, such as "2GB".
    threads : int or None
        Of that engine; None for all cores.
    temp : str
        The folder of its temporary files; empty for the system's.
    timeout : float or None
        Seconds that all readings take together; None for no end.
    partitions : str
        The column of folders that never change, whose counts are kept beside them; empty where none are.
    """

    memory: str = "2GB"
    spill: str = "8GB"
    threads: int | None = None
    temp: str = ""
    timeout: float | None = None
    partitions: str = ""

    def __post_init__(self) -> None:
        for name, size in (("memory", self.memory), ("spill", self.spill)):
            if not isinstance(size, str) or not re.fullmatch(r"[1-9][0-9]{0,5} ?[MGT]B", size):
                raise PublicParameterError(f'{name} must be a size such as "512MB" or "4GB"')
        if self.threads is not None and not (type(self.threads) is int and 1 <= self.threads <= MOST_THREADS):
            raise PublicParameterError(f"threads must be a whole number from 1 to {MOST_THREADS}")
        if self.timeout is not None and not (
            type(self.timeout) in (int, float) and 0 < self.timeout <= LONGEST_TIMEOUT
        ):
            raise PublicParameterError(f"timeout must be a number of seconds above 0, at most {LONGEST_TIMEOUT}")

    @property
    def memory_bytes(self) -> int:
        return bytes_of(self.memory)

    @property
    def room(self) -> int:
        """Bytes in memory and in temporary files together."""
        return self.memory_bytes + bytes_of(self.spill)


def bytes_of(size: str) -> int:
    """Bytes of a size such as "4GB"."""
    return int(size[:-2]) * BYTES[size[-2:]]


@restored
@dataclass(frozen=True, slots=True)
class Format:
    """Notation of numbers and text in the source.

    ``na`` lists what counts as missing, letter by letter, or number by number.

    Attributes
    ----------
    encoding : str
        Of CSV files: UTF-8, or one in which every byte is a character.
    decimal : str
        The decimal sign, "." or ",".
    thousands : str
        The sign between groups of three digits, or empty. A space stands for every kind of space, "'" for both
        apostrophes.
    na : tuple of str
    sheet : str
        Of a workbook with several; empty for its only one.
    symbols : tuple of str
        Texts that may stand before or after digits, such as a currency. The number is read without them. Each has a
        character that no number has, so that what is left of a cell is a number.
    has_encoding : bool
        True where the curator says the encoding, which is then not doubted.
    """

    encoding: str = "utf-8"
    decimal: str = "."
    thousands: str = ""
    na: tuple[str, ...] = ()
    sheet: str = ""
    has_encoding: bool = field(default=False, compare=False)
    symbols: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "encoding", _known_encoding(self.encoding))
        if len(self.sheet) > LONGEST_SHEET or not on_one_line(self.sheet):
            raise PublicParameterError(f"sheet is the name of a sheet: at most {LONGEST_SHEET} characters on one line")
        if self.decimal not in (".", ","):
            raise PublicParameterError('decimal is "." or ","')
        if self.thousands not in THOUSANDS or self.thousands == self.decimal:
            shown = ", ".join(f'"{sign}"' for sign in THOUSANDS)
            raise PublicParameterError(f"thousands is one of {shown}, and another sign than decimal")
        _check_words(self.na)
        _check_symbols(self.symbols)

    @property
    def plain(self) -> bool:
        """True if numbers are written as Python writes them."""
        return self.decimal == "." and not self.thousands and not self.symbols

    @property
    def separators(self) -> str:
        """The characters that may stand between groups of three digits."""
        return THOUSANDS[self.thousands]

    @property
    def dropped(self) -> tuple[str, ...]:
        """The texts that are taken out of a number before it is read: symbols, the blanks beside them, separators."""
        beside = (*sorted(self.symbols, key=len, reverse=True), *SPACES, "\t") if self.symbols else ()
        return tuple(dict.fromkeys((*beside, *self.separators)))

    @property
    def pattern(self) -> str:
        """The texts that are numbers, as a regular expression that every engine reads alike."""
        point = re.escape(self.decimal)
        whole = "[0-9]+"
        if self.separators:
            between = f"[{re.escape(self.separators)}]" if len(self.separators) > 1 else re.escape(self.separators)
            whole = f"([0-9]+|[0-9]{{1,3}}({between}[0-9]{{3}})+)"
        digits = f"({whole}{point}?[0-9]*|{point}[0-9]+)([eE][+-]?[0-9]+)?"
        before, after = "[+-]?", ""
        if self.symbols:
            symbol = f"({'|'.join(map(re.escape, sorted(self.symbols, key=len, reverse=True)))})"
            before = f"([+-]?({symbol}{GAP})?|{symbol}{GAP}[+-])"
            after = f"({GAP}{symbol})?"
        return f"^{BLANK}({before}({digits}){after}|[+-]?[iI][nN][fF]([iI][nN][iI][tT][yY])?){BLANK}$"

    def number(self, text: str) -> float | None:
        """The number that a text is, or None."""
        if re.fullmatch(self.pattern[1:-1], text) is None:
            return None
        for sign in self.dropped:
            text = text.replace(sign, "")
        try:
            return float(text.strip(" \t\r\n").replace(self.decimal, ".")) + 0.0
        except ValueError:  # the pattern lets none through; a cell must not fail a release
            return None

    def spelled(self, number: float) -> str | None:
        """A number as the source would write it, 7.0 as 7 and 1e17 as the integer is written; None for NaN."""
        if math.isnan(number):
            return None
        whole = number.is_integer() and abs(number) < LONG
        return str(int(number)) if whole else repr(number).replace(".", self.decimal)

    @property
    def missing_numbers(self) -> tuple[float, ...]:
        """The numbers among ``na``, such as -999."""
        found = (self.number(word) for word in self.na)
        return tuple(dict.fromkeys(value for value in found if value is not None))

    def words(self) -> str:
        """``encoding utf-8, numbers like 1234.5``: the whole format, for ``check``."""
        number = f"1{self.thousands}234{self.decimal}5"
        beside = f", {' or '.join(self.symbols)} before or after them" if self.symbols else ""
        missing = f", missing: {', '.join(self.na)}" if self.na else ""
        return f"encoding {usual_name(self.encoding)}, numbers like {number}{beside}{missing}"

    def doubt(self, delimiter: str) -> str:
        """The sentence on numbers of a file whose cells stand between ``;``, unless the decimal sign fits it."""
        often = "Where cells stand between ';', numbers are often 1234,5."
        return often if delimiter == ";" and self.decimal == "." else ""


def accented(keys: Iterable[object]) -> list[str]:
    """The keys with a letter outside ASCII, whose bytes depend on the encoding."""
    return [key for key in keys if isinstance(key, str) and not key.isascii()]


def cell_text(cell: object) -> str | None:
    """The text of a cell as a file would have it: true and false by these words, 7.0 as 7."""
    if cell is None or isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return PLAIN.spelled(cell) if isinstance(cell, float) else str(cell)


def are_years(low: float | Fraction, high: float | Fraction) -> bool:
    """Tell if numbers with these public bounds are written as years are, without a mark between thousands: 1967."""
    return YEARS.start <= low and high < YEARS.stop


def one_of(unit: str) -> str:
    """``year`` for ``years``; symbols and other words stay."""
    return unit[:-1] if unit in PLURALS else unit


def slope_unit(y: str, unit_of_y: str, x: str, unit_of_x: str) -> str:
    """``USD per year``; of columns of one unit, or of none, their names: ``price per carat``.

    Parameters
    ----------
    y, x : str
        Names of the columns.
    unit_of_y, unit_of_x : str
        Their units; empty where none is declared.

    Returns
    -------
    str
    """
    if unit_of_y == unit_of_x:
        return f"{y} per {x}"
    return f"{unit_of_y or y} per {x if unit_of_x in ('', x) else one_of(unit_of_x)}"


def sign_words(delimiter: str) -> str:
    """The sign between cells as a text shows it: ``';'``, or a tab."""
    return "a tab" if delimiter == "\t" else f"'{delimiter}'"


def codec(encoding: str) -> str:
    """The encoding to open a file with; a mark in front of UTF-8 is no part of the first name."""
    return "utf-8-sig" if encoding == "utf-8" else encoding


def usual_name(encoding: str) -> str:
    """The name of an encoding as other programs write it: ``windows-1252``, which Python calls cp1252."""
    return f"windows-{encoding.removeprefix('cp')}" if encoding in WINDOWS else encoding


def _known_encoding(given: str) -> str:
    try:
        found = codecs.lookup(given).name if given.isascii() else ""
    except (LookupError, ValueError):
        found = ""
    found = "utf-8" if found == "utf-8-sig" else found
    if found not in ENCODINGS | WINDOWS:
        raise PublicParameterError(
            "encoding is utf-8, ascii, iso-8859-1 to -16, windows-1250 to -1258, mac-roman or koi8-r; save other files "
            "as UTF-8"
        )
    return found


def _check_texts(name: str, texts: object, most: int, example: str) -> None:
    """Refuse what is no list of different texts, or one of more than ``most``."""
    if not isinstance(texts, tuple) or not all(isinstance(text, str) for text in texts):
        raise PublicParameterError(f"{name} lists texts: {name} = {example}")
    if len(set(texts)) != len(texts) or len(texts) > most:
        raise PublicParameterError(f"{name} lists at most {most} different texts")


def _check_words(words: tuple[str, ...]) -> None:
    _check_texts("na", words, MOST_WORDS, '["NA", "-999"]')
    for word in words:
        if not word or len(word) > LONGEST_WORD or not is_text(word):
            raise PublicParameterError(
                f"a text of na has 1 to {LONGEST_WORD} characters; an empty cell is missing anyway"
            )


def _check_symbols(symbols: tuple[str, ...]) -> None:
    """Refuse a symbol that could be part of a number: what is taken out must never change the digits."""
    _check_texts("symbols", symbols, MOST_SYMBOLS, '["€", "%"]')
    for symbol in symbols:
        if not 0 < len(symbol) <= LONGEST_SYMBOL or not is_text(symbol) or not on_one_line(symbol):
            raise PublicParameterError(f"a symbol has 1 to {LONGEST_SYMBOL} characters on one line")
        if symbol != symbol.strip() or any(one in "+-\u2212" or one.isdecimal() for one in symbol):
            raise PublicParameterError("a symbol holds no digit, no + or -, and no blank at an end")
        if set(symbol.lower()) <= OF_NUMBERS:
            raise PublicParameterError(f"{symbol} can be part of a number, so it is no symbol")


def symbols_in(names: Iterable[str]) -> tuple[str, ...]:
    """The signs of currencies, and %, in names of columns: their cells may have them beside a number."""
    return tuple(
        dict.fromkeys(one for name in names for one in name if one == "%" or unicodedata.category(one) == "Sc")
    )


def is_text(word: str) -> bool:
    """Tell if a text can be written as UTF-8 and holds no NUL, which ends a text elsewhere."""
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return "\x00" not in word


# --- names and titles -------------------------------------------------------------------------------------------------


def in_spark(place: object) -> bool:
    """True for the name of a table of a Spark catalog."""
    return str(place).lower().startswith("spark:")


def spark_name(place: str) -> str:
    """The whole name of a table of a Spark catalog: ``catalog.schema.visits`` of ``spark:catalog.schema.visits``.

    Raises
    ------
    SpecError
        It is not three plain names: one table with two names would have two ledgers.
    """
    name = place[len("spark:") :]
    if re.fullmatch(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+){2}", name) is None:
        raise SpecError(
            'Write the whole name: source = "spark:catalog.schema.visits". The catalog that Spark has by itself is '
            "spark_catalog, and its schema default. Nothing was read."
        )
    return name


def in_database(place: object) -> bool:
    """Tell if a source is the URL of a table in a database; a path has lost one of the slashes."""
    return in_database_file(place) or str(place).lower().startswith(("postgresql:/", "postgres:/", "spark:"))


def in_database_file(place: object) -> bool:
    """True for the URL of a table in a DuckDB or SQLite file."""
    return str(place).lower().startswith(("duckdb:/", "sqlite:/"))


def path_of(rows: object) -> str:
    """The path of rows that are a file, empty for a table in memory.

    It goes by the type alone: ``isinstance`` may ask an object for its class, and rows are asked nothing here.
    """
    return str(rows) if issubclass(type(rows), str | Path) else ""


def is_spark(source: object) -> bool:
    """True for a DataFrame of Spark, classic or Connect, going by its type alone."""
    kind = type(source)
    return kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql")


def is_there(source: Path) -> bool:
    """Tell if a file is there, or a pattern of files is given; a missing one is refused by its reader."""
    return glob.has_magic(str(source)) or os.path.exists(source.expanduser())  # False where no file can have the name


def refuse_address(place: str) -> None:
    """Refuse a source that is an address elsewhere, and no file of this machine."""
    scheme, mark, _ = place.partition("://")
    if mark and not in_database(place):
        raise SpecError(
            "source must be a file on this machine. Spark reads object stores: name a table of its catalog, "
            f'"spark:catalog.schema.table", or give rt.study(spark.read.parquet("{scheme}://…"), …). Nothing was read.'
        )


def exact(name: object) -> str:
    """The text of ``name`` as a plain str; of a subclass of str the letters it holds, whatever it says they are."""
    return str.__str__(name if isinstance(name, str) else str(name))


def exact_key(key: object) -> object:
    """A key as a plain text, integer or truth value: nothing of a subclass runs beside private values."""
    if isinstance(key, str):
        return exact(key)
    return int.__index__(key) if isinstance(key, int) and not isinstance(key, bool) else key


def toml_key(name: str) -> str:
    """A name as TOML writes it: in quotes unless it is made of ASCII letters, digits, _ and -."""
    if re.fullmatch("[A-Za-z0-9_-]+", name):
        return name
    return json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")


def nearest(word: str, known: Iterable[str], same: Mapping[str, str] = MappingProxyType({})) -> str | None:
    """The known word that a mistyped one most likely means, whatever its capitals; None where none is near.

    Parameters
    ----------
    word : str
    known : iterable of str
    same : mapping of str to str, optional
        Words of other tools, in small letters, with the known one.

    Returns
    -------
    str or None
    """
    if word.lower() in same:
        return same[word.lower()]
    listed = list(known)
    small = {one.lower(): one for one in reversed(listed)}
    near = difflib.get_close_matches(word.lower(), small, n=1)
    begun = [one for one in listed if re.match(rf"{re.escape(word.lower())}\b", one.lower())]
    return small[near[0]] if near else begun[0] if word and len(begun) == 1 else None


def section(column: str) -> str:
    """The section of a study file that declares a column, to be pasted: ``[columns.age]``, ``[columns."Age (y)"]``."""
    return f"[columns.{toml_key(column)}]"


def check_plain_names(names: Sequence[str], where: str, longest: int = LONGEST_NAME) -> None:
    """Refuse names that are longer than any name is, or hold a line end or another control character.

    Parameters
    ----------
    names : sequence of str
    where : str
        Name of their place, for the message.
    longest : int
        Characters that a name may have.

    Raises
    ------
    SpecError
        The same words whichever name it is.
    """
    if long := [place for place, name in enumerate(names, 1) if len(name) > longest]:
        place = f", number {long[0]} of {len(names):,}" if len(names) > 1 else ""
        raise SpecError(
            f"{where} has a name of more than {longest:,} characters{place}. Give it a shorter one there. "
            "No row was read."
        )
    check_one_line(names, where)


def check_one_line(names: Iterable[str], where: str) -> None:
    """Refuse names that hold a line end or another control character."""
    if not all(map(on_one_line, names)):
        raise SpecError(f"{where} has a line end, a tab or another control character in a name. No row was read.")


def check_title(text: str, where: str) -> None:
    """Refuse a title, or another text of one line, that holds a line end or another control character."""
    if len(text) > LONGEST_TITLE or not on_one_line(text):
        raise SpecError(
            f"{where} is one line of at most {LONGEST_TITLE:,} characters, without a tab or another control "
            "character. No row was read."
        )


def on_one_line(text: str) -> bool:
    """Tell if a text holds no control character and no end of a line or paragraph."""
    return not any(unicodedata.category(c) in BREAKS for c in text)


def plain(text: str) -> str:
    """``text`` without control characters, line ends, and marks that turn the direction of writing."""
    if text.isascii() and text.isprintable():
        return text
    acts = (*BREAKS, "Cs")
    return "".join("\N{REPLACEMENT CHARACTER}" if c in TURNS or unicodedata.category(c) in acts else c for c in text)


PLAIN: Final = Format()
