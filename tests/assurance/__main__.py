"""``python -m tests.assurance``: the report of everything that can be verified by running the program."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from reticent.conformance.alarm import Alarm
from reticent.conformance.report import page
from tests.assurance.report import PARTS, verified


def main(words: Sequence[str] | None = None) -> int:
    """Run the parts named, or all of them; 6 where something was refuted."""
    parser = argparse.ArgumentParser(prog="python -m tests.assurance", description=__doc__)
    for part in PARTS:
        parser.add_argument(f"--{part}", action="store_true", help=f"only this part: {part}")
    parser.add_argument("--deep", action="store_true", help="larger domains and more draws: minutes")
    parser.add_argument("--fail-fast", action="store_true", help="stop at the first refutation")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write the report as a page")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    given = parser.parse_args(words)
    if given.html is not None and given.html.exists():
        parser.error(f"{given.html} exists and is not overwritten")
    parts = [part for part in PARTS if getattr(given, part)] or list(PARTS)
    alarm = Alarm(lambda text: _say(f"FOUND {text}"), first=given.fail_fast)
    found = verified(parts, deep=given.deep, tell=lambda stage: _say(f"{stage} …"), alarm=alarm)
    if given.html is not None:
        given.html.write_text(page(found), encoding="utf-8")
    print(json.dumps(found.to_json(), allow_nan=False) if given.json else found)
    return 0 if found.passed else 6


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
