"""Starts a standalone Spark cluster: a master and its workers, a process each, as Spark's own start scripts do."""

import json
import os
import signal
import socket
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

import pyspark

from tests.labs.spark.submitter import clean_environment
from tests.labs.waiting import wait_until

SPARK_HOME = Path(pyspark.__file__).parent
LOCALHOST = "127.0.0.1"


def free_port() -> int:
    """Returns a port on which no process listens now."""
    with socket.socket() as one:
        one.bind((LOCALHOST, 0))
        port: int = one.getsockname()[1]
        return port


def read_json(url: str) -> Any:  # noqa: ANN401 - whatever it is
    """Returns the answer of a web UI of Spark; None while it does not listen."""
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310 - of this machine
            return json.load(answer)
    except OSError:
        return None


class StandaloneCluster:
    """One master, and two workers with one core each.

    Each worker has its own address, because Spark starts no second copy of a task on the host of the first.

    Args:
        work: the directory for logs and for the workers' files.
    """

    def __init__(self, work: Path) -> None:
        self.work = work
        port, self._ui = free_port(), free_port()
        self.uri = f"spark://{LOCALHOST}:{port}"
        self._processes: list[subprocess.Popen[bytes]] = []
        try:
            master = ["org.apache.spark.deploy.master.Master", "--port", str(port)]
            self._start("master", LOCALHOST, *master, "--webui-port", str(self._ui))
            self._wait(0)
            for number in range(2):
                worker = ["org.apache.spark.deploy.worker.Worker", self.uri, "--webui-port", "0"]
                size = ["--cores", "1", "--memory", "1g", "--work-dir", str(work / f"worker-{number}")]
                self._start(f"worker-{number}", f"127.0.0.{number + 1}", *worker, *size)
            self._wait(2)
        except BaseException:
            self.close()
            raise

    def executors(self) -> dict[str, int]:
        """Returns the process ids of the executors by executor id, those of the newest application last."""
        found = {}
        for worker in self._processes[1:]:
            for line in Path(f"/proc/{worker.pid}/task").glob("*/children"):
                for child in line.read_text().split():
                    words = Path(f"/proc/{child}/cmdline").read_bytes().decode().split("\0")
                    if "--executor-id" in words:
                        found[words[words.index("--executor-id") + 1]] = int(child)
        return found

    def close(self) -> None:
        """Ends all processes, including the executors."""
        for pid in self.executors().values():
            os.kill(pid, signal.SIGKILL)
        for process in reversed(self._processes):
            process.kill()
            process.wait()

    def _start(self, name: str, host: str, *words: str) -> None:
        environment = {
            **clean_environment(),
            "SPARK_HOME": str(SPARK_HOME),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false",  # a fixed port that nobody here asks
            "SPARK_LOCAL_IP": host,
        }
        self.work.mkdir(parents=True, exist_ok=True)
        with (self.work / f"{name}.log").open("wb") as log:
            command = [str(SPARK_HOME / "bin" / "spark-class"), *words, "--host", host]
            self._processes.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log))

    def _wait(self, workers: int) -> None:
        """Waits until the master reports this number of workers."""

        def logs() -> str:
            ends = (file.read_text(errors="replace")[-2000:] for file in self.work.glob("*.log"))
            return "\n".join((f"there is a master with {workers} workers:", *ends))

        def come() -> bool:
            told = read_json(f"http://{LOCALHOST}:{self._ui}/json/")
            return told is not None and told["aliveworkers"] >= workers

        wait_until(come, logs)
