"""The generated part of docs/reference/cli.md: what every verb says to --help.

``python -m tests.support.cli_reference`` writes it; a test compares it with the page.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.support.cli_kit import run

PAGE: Final = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"
MARK: Final = "<!-- below: what --help says, written by python -m tests.support.cli_reference -->\n"
VERBS: Final = (
    "init",
    "check",
    "plan",
    "rehearse",
    "release",
    "sql",
    "synth",
    "compare",
    "ledger show",
    "ledger verify",
    "ledger export",
    "ledger close",
    "ledger amend",
    "ledger adopt",
    "survey design",
    "survey form",
    "survey cards",
    "survey collect",
    "survey estimate",
    "survey check",
    "survey simulate",
    "explain",
    "verify",
    "withdraw",
    "migrate",
    "audit",
    "registry",
    "doctor",
    "demo",
)


def generated() -> str:
    """One section for each verb."""
    parts = ["\n## The verbs\n"]
    for verb in VERBS:
        text = run(*verb.split(), "--help").out.strip("\n")
        parts.append(f"\n### {verb}\n\n```text\n{text}\n```\n")
    return "".join(parts)


def renewed(page: str) -> str:
    """The page with its generated part as it should be now."""
    return page[: page.index(MARK) + len(MARK)] + generated()


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text("utf-8")), "utf-8")
