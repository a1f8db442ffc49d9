"""Ways to spoil bytes, texts and values, shared by the fuzzers."""

from __future__ import annotations

import random
from typing import Final

TEXTS: Final = (
    "", " ", "\t", "\n", "a" * 300, "x" * 20_000, "ä", "\u202eevil", "\u0000", "😀" * 40, "e\u0301", "'", '"', "\\",
    "{{", "%s", "../x", "[red]", "\x1b[31m", "-", "--", "NaN", "null", "true", "None", "count", "age", "*", "$(id)",
    "`", ";", "ß", "\ufeff", "\ud7ff", "\uffff", "⁰", "١٢٣", "1e5", "DROP TABLE", "a b", "constructor", "__class__",
    "{0.__class__}",
)  # fmt: skip
NUMBERS: Final = (
    "0", "-0", "1", "-1", "1.5", "1e-300", "1e300", "1e400", "-1e400", "1e9999", "1e-9999", "9" * 40, "9" * 4400,
    "0.1", "1/3", "1e999999999", "-1e999999999", "1E+308", "1.7976931348623157e308", "9223372036854775807",
    "9223372036854775808", "2.5e-324", "-9223372036854775809", "0x10", "0o7", "0b1", "1_000", "1__0", "+5", ".5",
    "5.", "00", "inf", "-inf", "nan", "1e", "3.0", "0." + "3" * 3000, "18446744073709551616", "1e18", "1e19", "10",
    "100", "0.01", "1e-5", "1e-7", "1e-100",
)  # fmt: skip


def spoiled(data: bytes, chance: random.Random, times: int | None = None) -> bytes:
    """``data`` with a few bytes flipped, cut, put in, doubled, moved or blanked."""
    for _ in range(times or chance.choice([1, 1, 1, 2, 3, 8])):
        at = chance.randrange(len(data) + 1)
        to = min(len(data), at + chance.choice([1, 1, 2, 4, 16, 64, 400]))
        match chance.randrange(9):
            case 0:
                data = data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]
            case 1:
                data = data[:at] + data[to:]
            case 2:
                data = data[:at] + data[at:to] * chance.choice([2, 3, 50]) + data[to:]
            case 3:
                data = data[:at]
            case 4:
                data = data[:at] + odd_bytes(chance) + data[at:]
            case 5:
                data = data[:at] + b"\0" * (to - at) + data[to:]
            case 6:
                data = (
                    data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1 :]
                    if at < len(data)
                    else data
                )
            case 7:
                other = chance.randrange(len(data) + 1)
                data = data[:other] + data[at:to] + data[other:]
            case _:
                data = data[:at] + odd_text(chance).encode("utf-8", "surrogatepass") + data[at:]
    return data


def odd_bytes(chance: random.Random) -> bytes:
    """Bytes that text readers stumble over."""
    return chance.choice([
        b"\xff\xfe", b"\xc3", b"\xed\xa0\x80", b"\x00", b"\r", b"\n", b"\r\n", b'"', b'""', b"'", b",", b";",
        b"\xf4\x90\x80\x80", b"\xef\xbb\xbf", b"\x1a", b"\x85", b"\xe2\x80\xa8", b"\\", b"\xc0\x80", b"=", b"[", b"]",
        b"{", b"}", b"#", b":",
    ])  # fmt: skip


def odd_text(chance: random.Random) -> str:
    return chance.choice(TEXTS) if chance.random() < 0.6 else chance.choice(NUMBERS)


def odd_number(chance: random.Random) -> str:
    return chance.choice(NUMBERS) if chance.random() < 0.7 else str(chance.randrange(-50, 200))
