"""As much of Kubernetes as Spark asks of it: pods that are processes of this machine, behind the rules of a Role."""

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pyspark

LOCALHOST = "127.0.0.1"
NAMESPACE, DRIVER = "ops", "walsafe-prod-a-29384720-x7x2k"
_VERBS = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_OF_ALL = {"GET": "list", "DELETE": "deletecollection"}


class KubernetesApi:
    """An API server with the pod of the driver; a pod of an executor starts what Spark's image starts, without Python.

    Args:
        work: for the folders of the executors, and what they print.
        role: what the driver may ask; everything else is refused.
    """

    def __init__(self, work: Path, role: Mapping[str, Any]) -> None:
        self.pods: dict[str, dict[str, Any]] = {}
        self.asked: set[tuple[str, str]] = set()
        self.refused: list[str] = []
        self._allowed = {(verb, one) for rule in role["rules"] for one in rule["resources"] for verb in rule["verbs"]}
        self._work = work
        self._programs = work / "bin"
        self._programs.mkdir(parents=True)
        for name in ("bash", "chmod", "ls", "rm"):
            (self._programs / name).symlink_to(shutil.which(name) or name)
        self._started: dict[str, subprocess.Popen[bytes]] = {}
        self._lock = threading.Lock()
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                code, document = api.answer(self.command, self.path, body)
                text = json.dumps(document).encode()
                self.send_response(code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer  # noqa: N815

            def log_message(self, *_args: object) -> None: ...

        self._server = ThreadingHTTPServer((LOCALHOST, 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def master(self) -> str:
        return f"k8s://http://{LOCALHOST}:{self._server.server_port}"

    def answer(self, method: str, target: str, body: bytes) -> tuple[int, dict[str, Any]]:
        """Answers one request."""
        url = urlsplit(target)
        _, _, _, namespace, kind, *rest = url.path.strip("/").split("/") + [""] * 2  # api/v1/namespaces/NS/KIND/NAME
        name = rest[0]
        verb = "watch" if "watch" in parse_qs(url.query) else (_VERBS if name else {**_VERBS, **_OF_ALL})[method]
        with self._lock:
            if namespace != NAMESPACE or (verb, kind) not in self._allowed:
                self.refused.append(f"{verb} {target}")
                return 403, {
                    "kind": "Status",
                    "apiVersion": "v1",
                    "status": "Failure",
                    "code": 403,
                    "reason": "Forbidden",
                }
            self.asked.add((verb, kind))
            if verb == "create":
                made = json.loads(body)
                return 201, self._create(made) if kind == "pods" else made
            if verb in {"delete", "deletecollection"}:
                for one in [name] if name else list(self._started):
                    self._end(one)
                return 200, {"kind": "Status", "apiVersion": "v1", "status": "Success"}
            if name == DRIVER:
                identity = {"name": DRIVER, "namespace": NAMESPACE, "uid": "d-1"}
                return 200, {"kind": "Pod", "apiVersion": "v1", "metadata": identity, "status": {"phase": "Running"}}
            if name:
                return (200, self.pods[name]) if name in self.pods else (404, {"kind": "Status", "code": 404})
            return 200, {
                "kind": "PodList",
                "apiVersion": "v1",
                "metadata": {},
                "items": [self._seen(one) for one in self.pods],
            }

    def close(self) -> None:
        """Ends the executors and the server."""
        for name in list(self._started):
            self._end(name)
        self._server.shutdown()
        self._server.server_close()

    def logs(self) -> str:
        """Returns what the executors printed, for messages."""
        return "\n".join(file.read_text(errors="replace")[-3000:] for file in sorted(self._work.glob("*/log")))

    def _create(self, pod: dict[str, Any]) -> dict[str, Any]:
        name = pod["metadata"]["name"]
        pod["metadata"] |= {"uid": name, "namespace": NAMESPACE, "creationTimestamp": "2026-11-21T02:00:00Z"}
        pod["status"] = {"phase": "Running", "podIP": LOCALHOST}
        self.pods[name] = pod
        folder = self._work / name
        folder.mkdir(parents=True)
        (container,) = pod["spec"]["containers"]
        assert container["args"] == ["executor"]
        given = {one["name"]: one.get("value", "") for one in container["env"]}
        self._started[name] = subprocess.Popen(
            _executor(given, name),
            cwd=folder,
            env={
                "SPARK_LOCAL_DIRS": str(folder),
                "PATH": str(folder),
                **_only(given, "SPARK_USER"),
            },
            stdout=(folder / "log").open("wb"),
            stderr=subprocess.STDOUT,
        )
        return pod

    def _seen(self, name: str) -> dict[str, Any]:
        if name in self._started and self._started[name].poll() is not None:
            self.pods[name]["status"]["phase"] = "Failed"
        return self.pods[name]

    def _end(self, name: str) -> None:
        self.pods.pop(name, None)
        process = self._started.pop(name, None)
        if process is not None:
            process.terminate()
            process.wait()


def _only(given: Mapping[str, str], *names: str) -> dict[str, str]:
    return {name: given[name] for name in names if name in given}


def _executor(given: Mapping[str, str], name: str) -> list[str]:
    """The command of the entry point of Spark's image, for the argument `executor`."""
    java = Path(os.environ["JAVA_HOME"], "bin", "java")
    options = [value for option, value in sorted(given.items()) if option.startswith("SPARK_JAVA_OPT_")]
    memory = given["SPARK_EXECUTOR_MEMORY"]
    command = [str(java), *options, f"-Xms{memory}", f"-Xmx{memory}", "-cp", f"{Path(pyspark.__file__).parent}/jars/*"]
    told = {
        "driver-url": given["SPARK_DRIVER_URL"],
        "executor-id": given["SPARK_EXECUTOR_ID"],
        "cores": given["SPARK_EXECUTOR_CORES"],
        "app-id": given["SPARK_APPLICATION_ID"],
        "hostname": LOCALHOST,
        "resourceProfileId": given["SPARK_RESOURCE_PROFILE_ID"],
        "podName": name,
    }
    words = [word for option, value in told.items() for word in (f"--{option}", value)]
    return [*command, "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend", *words]
