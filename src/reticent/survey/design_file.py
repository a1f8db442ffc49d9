"""Design files, ``*.survey.toml``: one question, or a questionnaire, with a fingerprint over everything that counts.

The answers in the field belong to one law of the coins. A file edited after the first answer came in would read the
answers by another design. A file whose content does not have its fingerprint is refused.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from reticent.errors import PublicParameterError, SpecError
from reticent.survey.design_record import FORMAT, DesignRecord
from reticent.survey.methods import rebuilt
from reticent.survey.questionnaire_record import QuestionnaireRecord

ENDING: Final = ".survey.toml"
LARGEST: Final = 1 << 26
HEAD: Final = (
    "# A survey design. Answers are read by the coins written here, so the file is not edited:\n"
    "# for other coins make another design.\n"
)


def text_of(designs: tuple[DesignRecord, ...], fingerprint: str) -> str:
    """The file of one design, or of several that share a budget."""
    blocks = [_block(design) for design in designs]
    return HEAD + f"format = {FORMAT}\nfingerprint = {_text(f'sha256:{fingerprint}')}\n" + "".join(blocks)


def _block(design: DesignRecord) -> str:
    among = ", ".join(_text(label) for label in design.among)
    lines = [
        "\n[[questions]]",
        f"question = {_text(design.question)}",
        f"method = {_text(design.method)}",
        f"among = [{among}]",
        *(f"{name} = {_text(value)}" for name, value in sorted(design.settings.items())),
    ]
    return "\n".join(lines) + "\n"


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)  # printable text, so a JSON string is a TOML string


def save(design: DesignRecord | QuestionnaireRecord, path: Path) -> Path:
    """Write a new file; one that exists is not overwritten."""
    designs = (design,) if isinstance(design, DesignRecord) else design.designs
    if not path.name.endswith(ENDING):
        raise SpecError(f"a design file is called *{ENDING}")
    try:
        with open(path, "x", encoding="utf-8", newline="\n") as stream:
            stream.write(text_of(designs, design.fingerprint))
    except FileExistsError:
        raise SpecError(f"{path.name} exists and is not overwritten") from None
    except OSError:
        raise SpecError(f"{path.name} cannot be written") from None
    return path


def read(path: str | Path) -> DesignRecord | QuestionnaireRecord:
    """The design, or the questionnaire, that ``save`` wrote.

    Raises
    ------
    SpecError
        Where there is no such file, or it was edited: its content does not have its fingerprint.
    """
    where = Path(path)
    try:
        if where.stat().st_size > LARGEST:
            raise SpecError(f"{where.name} is no design file: too long")
        fields = tomllib.loads(where.read_text("utf-8-sig"))
    except FileNotFoundError:
        raise SpecError(f"There is no design file {where.name}. Write one with: reticent survey design NAME") from None
    except (OSError, UnicodeDecodeError):
        raise SpecError(f"{where.name} cannot be read") from None
    except tomllib.TOMLDecodeError:
        raise SpecError(f"{where.name} is no design file: its TOML cannot be read") from None
    if fields.get("format") != FORMAT:
        raise SpecError(f"{where.name} is no design file of format {FORMAT}")
    try:
        found = _found(fields["questions"])
    except (KeyError, TypeError, ValueError, ArithmeticError, AttributeError, PublicParameterError):
        raise SpecError(f"{where.name} was edited: its numbers are not those of a design") from None
    if fields.get("fingerprint") != f"sha256:{found.fingerprint}":
        raise SpecError(
            f"{where.name} was edited: its content does not have its fingerprint. Answers are read by the coins they "
            "were randomized with; take the file as it was saved."
        )
    return found


def _found(blocks: list[Mapping[str, Any]]) -> DesignRecord | QuestionnaireRecord:
    designs = tuple(_design(block) for block in blocks)
    return designs[0] if len(designs) == 1 else QuestionnaireRecord(designs)


def _design(block: Mapping[str, Any]) -> DesignRecord:
    numbers = {str(name): str(value) for name, value in block.items() if name not in ("question", "method", "among")}
    made = rebuilt(str(block["question"]), str(block["method"]), tuple(str(label) for label in block["among"]), numbers)
    if made.settings != numbers:
        raise PublicParameterError("numbers that are no part of a design")
    return made
