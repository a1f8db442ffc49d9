"""Spark in processes of its own, in a temporary folder and on this machine alone, stopped and removed at the end."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

PATIENCE: Final = 120  # seconds until a server listens
CONNECT: Final = "org.apache.spark.sql.connect.service.SparkConnectServer"
MASTER: Final = "org.apache.spark.deploy.master.Master"
WORKER: Final = "org.apache.spark.deploy.worker.Worker"
HERE: Final = "127.0.0.1"
QUIET: Final = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "OFF"}
SHORT_LIVED: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # compiling for long runs takes a demonstration longer
SMALL: Final = {  # to plan anew at each step, and to compile each statement, takes longer than little data
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


def lacking() -> str:
    """The one command that installs what is missing; empty if Java and pyspark are here."""
    if shutil.which("java") is None:
        return "apt-get install --yes default-jre-headless"
    return "" if importlib.util.find_spec("pyspark") else "pip install 'reticent[spark]'"


@contextmanager
def connect_server() -> Iterator[str]:
    """A Spark Connect server with a warehouse of its own.

    Yields
    ------
    str
        Its address, for ``SPARK_REMOTE``.
    """
    with tempfile.TemporaryDirectory(prefix="reticent-spark-") as folder:
        port = _free_port()
        told = {
            **QUIET,
            **SMALL,
            "spark.driver.extraJavaOptions": SHORT_LIVED,
            "spark.connect.grpc.binding.port": str(port),
            "spark.sql.warehouse.dir": f"{folder}/warehouse",
            "spark.local.dir": f"{folder}/local",
        }
        settings = [word for name, value in told.items() for word in ("--conf", f"{name}={value}")]
        asked = ["spark-submit", "--master", "local[2]", "--class", CONNECT, *settings, "spark-internal"]
        with _running(asked, folder, port):
            yield f"sc://{HERE}:{port}"


@contextmanager
def cluster(workers: int = 2) -> Iterator[str]:
    """A standalone master and workers of one core each, every one a process.

    Yields
    ------
    str
        Address of the master.
    """
    with tempfile.TemporaryDirectory(prefix="reticent-spark-") as folder, ExitStack() as started:
        port = _free_port()
        address = f"spark://{HERE}:{port}"
        options = ["--host", HERE, "--port", str(port), "--webui-port", "0"]
        started.enter_context(_running(["spark-class", MASTER, *options], folder, port))
        for nth in range(workers):
            own = _free_port()
            options = ["--host", HERE, "--port", str(own), "--webui-port", "0", "-c", "1", "-m", "768m"]
            asked = ["spark-class", WORKER, *options, "-d", f"{folder}/worker{nth}", address]
            started.enter_context(_running(asked, folder, own))
        yield address


@contextmanager
def _running(asked: Sequence[str], folder: str, port: int) -> Iterator[None]:
    """A program of Spark, from when it listens on a port until the end."""
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        raise FileNotFoundError("pyspark")
    home = Path(found.origin).parent
    environment: Mapping[str, str] = {
        **{name: value for name, value in os.environ.items() if name not in ("SPARK_REMOTE", "SPARK_CONF_DIR")},
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": HERE,
        "SPARK_LOG_DIR": folder,
    }
    program = subprocess.Popen(  # noqa: S603 - the program is pyspark's own
        [str(home / "bin" / asked[0]), *asked[1:]],
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        _listening(port, program)
        yield
    finally:
        os.killpg(program.pid, signal.SIGTERM)
        program.wait(timeout=PATIENCE)


def _listening(port: int, program: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and program.poll() is None:
        with socket.socket() as tried:
            if tried.connect_ex((HERE, port)) == 0:
                return
        time.sleep(0.2)
    raise TimeoutError("Spark did not start")


def _free_port() -> int:
    with socket.socket() as tried:
        tried.bind((HERE, 0))
        found: int = tried.getsockname()[1]
        return found
