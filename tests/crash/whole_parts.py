"""The parts of a whole server on loopback, each a process that can be killed and started again."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from tests.data_folder import build_environment
from tests.llm.remote.llama_server import LlamaServer
from tests.page_client import ROOT, free_port
from tests.search.postgresql import run_postgresql_server

from .accounts import create_users
from .database import PostgresqlDatabase
from .processes import Processes

_NGINX = """
daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/nginx.txt;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
    upstream web {{ server 127.0.0.1:{first} fail_timeout=2s; server 127.0.0.1:{second} fail_timeout=2s; }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://web;
            proxy_http_version 1.1;
            proxy_set_header Host $host;
            proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
            proxy_set_header Upgrade $http_upgrade;
            proxy_set_header Connection "upgrade";
            proxy_buffering off;
            proxy_connect_timeout 1s;
            proxy_read_timeout 60s;
        }}
    }}
}}
"""


PEOPLE = 20
# A real model on few cores serves so many, and its server keeps so many tokens of each of two of them.
_PEOPLE_OF_A_REAL_MODEL, _WINDOW_OF_A_REAL_MODEL = 3, 6144
_SECRET_KEY = "0123456789abcdef" * 4
# Seconds after which a silent process is taken for dead; in the product 30.
_DEAD_SECONDS = 6


class Part:
    """A process that can be killed without a warning and started again; `start` returns what kills it."""

    def __init__(self, name: str, start: Callable[[], Callable[[], None]]) -> None:
        self.name, self._start = name, start
        self._kill = start()

    def kill(self) -> None:
        """Kill it."""
        self._kill()

    def start(self) -> None:
        """Start it again."""
        self._kill = self._start()


class WholeServer:
    """All parts, running. `base` is the address of the proxy, and `clients` are the people.

    With `weights`, the file of a real model, one llama-server is instead of the two scripted model servers.
    """

    def __init__(self, folder: Path, stack: ExitStack, weights: Path | None = None) -> None:
        self._folder, self._stack = folder, stack
        self._weights = weights
        self._models = ("model-1",) if weights else ("model-1", "model-2")
        self._ports = {
            name: free_port() for name in ("redis", "model-1", "model-2", "web-1", "web-2", "proxy")
        }
        self.base = f"http://127.0.0.1:{self._ports['proxy']}"
        postgresql = stack.enter_context(run_postgresql_server())
        self.database = PostgresqlDatabase(postgresql)
        # Its processes end at once, and it recovers when it starts.
        self.parts = [Part("PostgreSQL", lambda: postgresql.restart_at_once), Part("Redis", self._run_redis)]
        self.parts += [Part(name, partial(self._run_model, name)) for name in self._models]
        self._processes = {
            name: self._make_processes(name) for name in ("web-1", "web-2", "worker-1", "worker-2")
        }
        self._processes["web-1"].run("migrate", "-v0")
        people = _PEOPLE_OF_A_REAL_MODEL if weights else PEOPLE
        names = [f"person-{number}" for number in range(people)]
        self.clients = create_users(self._processes["web-1"], folder / "users", names, seed=1)
        self.parts += [Part(name, partial(self._run_web, name)) for name in ("web-1", "web-2")]
        self.parts += [Part(name, partial(self._run_worker, name)) for name in ("worker-1", "worker-2")]
        self.parts.append(Part("proxy", self._run_proxy))

    def read_errors(self) -> list[str]:
        """Return a line for each process that logged errors, with their number and the last one."""
        lines = []
        for log in sorted(self._folder.glob("*.log")):
            told = [line for line in log.read_text().splitlines() if " ERROR " in line or "Error: " in line]
            lines += [f"{log.stem}: {len(told)} errors logged, at last {told[-1][:200]}"] if told else []
        return lines

    def _make_processes(self, name: str) -> Processes:
        """Set up a machine with a data folder of its own; web servers leave background work to workers."""
        data = self._folder / name
        (data / "static").mkdir(parents=True)
        data.chmod(0o700)
        models = ",".join(f"http://127.0.0.1:{self._ports[model]}/v1" for model in self._models)
        variables = {
            "REDIS_URL": f"redis://127.0.0.1:{self._ports['redis']}/0",
            "PROVIDER_URL": models,
            "PROVIDER_PLACES": "16",
            "SECRET_KEY": _SECRET_KEY,
            "MODE": "server",
            "ALLOWED_HOSTS": "127.0.0.1",
            "SSL_REDIRECT": "false",
            "BEHIND_PROXY": "true",
            "QUOTA_MESSAGES_A_MINUTE": "0",
            # Without an embedder, which takes facts that differ in made-up words for the same.
            "MODEL_DIR": str(self._folder / "none"),
            "EMBEDDER": "minilm-l6-int8",
            "PROCESS_DEAD_SECONDS": str(_DEAD_SECONDS),
        }
        if name.startswith("web"):
            variables["JOBS"] = "off"
        environment = build_environment(data, **self.database.variables, **variables)
        processes = Processes(environment, self._folder / f"{name}.log")
        self._stack.callback(processes.close)
        return processes

    def _run_web(self, name: str) -> Callable[[], None]:
        port = str(self._ports[name])
        return self._processes[name].start("serve", "--no-browser", "--port", port).kill

    def _run_worker(self, name: str) -> Callable[[], None]:
        return self._processes[name].start("run_jobs", "--workers", "2").kill

    def _run_model(self, name: str) -> Callable[[], None]:
        if self._weights:
            server = LlamaServer(self._weights, window=_WINDOW_OF_A_REAL_MODEL, port=self._ports[name])
            self._stack.callback(server.kill)
            return server.start().kill
        return self._run(sys.executable, "-m", "tests.crash.scripted_model", str(self._ports[name]))

    def _run_redis(self) -> Callable[[], None]:
        port = str(self._ports["redis"])
        return self._run(_find("redis-server"), "--port", port, "--bind", "127.0.0.1", "--save", "")

    def _run_proxy(self) -> Callable[[], None]:
        config = self._folder / "nginx.conf"
        first, second, port = (self._ports[name] for name in ("web-1", "web-2", "proxy"))
        config.write_text(_NGINX.format(folder=self._folder, port=port, first=first, second=second))
        return self._run(_find("nginx"), "-c", str(config), "-e", str(self._folder / "nginx.txt"))

    def _run(self, *command: str) -> Callable[[], None]:
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._stack.callback(process.kill)

        def kill() -> None:
            process.kill()
            process.wait()

        return kill


@contextmanager
def run_whole_server(folder: Path, weights: Path | None = None) -> Iterator[WholeServer]:
    """Run all parts until the block ends, with `weights` with a real model.

    Raises PostgresqlUnavailable, and SystemExit where another program is missing.
    """
    with ExitStack() as stack:
        yield WholeServer(folder, stack, weights)


def _find(program: str) -> str:
    path = shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin")
    if path is None:
        raise SystemExit(f"{program} is not installed")
    return path
