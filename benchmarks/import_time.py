"""CPU of ``import reticent`` against ``import numpy``, in new interpreters, turn and turn about.

    python benchmarks/import_time.py

Both figures are the smallest of several runs: what the import needs when nothing else gets in its way. The
interpreter's own start is not counted, which makes the ratio larger than a user sees.
"""

from __future__ import annotations

import subprocess
import sys

TARGET = 2.2
RUNS = 15


def seconds(module: str) -> float:
    """CPU seconds one new interpreter needs for one import."""
    program = f"import time; start = time.process_time(); import {module}; print(time.process_time() - start)"
    return float(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout)


def main() -> None:
    names = ("numpy", "reticent")
    for name in names:
        seconds(name)  # byte code is written once
    runs = [{name: seconds(name) for name in names} for _ in range(RUNS)]
    least = {name: min(run[name] for run in runs) for name in names}
    ratio = least["reticent"] / least["numpy"]
    print(f"import numpy     {1000 * least['numpy']:6.1f} ms CPU, least of {RUNS}")
    print(f"import reticent  {1000 * least['reticent']:6.1f} ms CPU, least of {RUNS}, numpy included")
    print(f"ratio            {ratio:6.2f}    target at most {TARGET}: {'met' if ratio <= TARGET else 'MISSED'}")


if __name__ == "__main__":
    main()
