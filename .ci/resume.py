"""A pytest plugin: leave out what already passed at this code, so that a long run can be stopped and taken up.

Each passed test is a line of JSON in the file named by ``AUDIT_LOG``. A line counts only for the code it was written
at: the trees of ``src`` and ``tests`` and the versions of what they use; a commit of pages leaves it good. Nothing is
left out while tracked files are changed. Delete the file to start again.
"""

from __future__ import annotations

import json
import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

CODE = ("src", "tests", "pyproject.toml", "constraints.txt")


class Resume:
    """Knows what passed, and writes down what passes."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self.commit = _git("rev-parse", "HEAD")
        self.code = _git("rev-parse", *(f"HEAD:{part}" for part in CODE)).split()
        self.clean = self.commit != "" and _git("status", "--porcelain", "--untracked-files=no") == ""
        lines = log.read_text().splitlines() if log.exists() and self.clean else []
        records = [json.loads(line) for line in lines if line.endswith("}")]  # a kill can leave half a line
        self.passed = {record["test"] for record in records if record["code"] == self.code}

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        done = [item for item in items if item.nodeid in self.passed]
        if done:
            config.hook.pytest_deselected(items=done)
            items[:] = [item for item in items if item.nodeid not in self.passed]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        alone = "PYTEST_XDIST_WORKER" not in os.environ  # else the process that hands the tests out writes it down
        if report.when == "call" and report.passed and self.clean and alone:
            when = datetime.now(UTC).isoformat(timespec="seconds")
            record = {
                "test": report.nodeid,
                "commit": self.commit,
                "code": self.code,
                "when": when,
                "seconds": round(report.duration, 1),
            }
            with self.log.open("a") as file:
                file.write(json.dumps(record) + "\n")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.passed:
            terminalreporter.write_line(f"{len(self.passed)} passed earlier at this code: {self.log}")

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and self.passed:
            session.exitstatus = pytest.ExitCode.OK


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Resume(Path(os.environ["AUDIT_LOG"])))


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""
