"""`manage.py start`: from nothing to a served page."""

import argparse
import ipaddress
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager

from memoryapp import provider
from memoryapp.bootstrap import engine, environment, preparation, stamps
from memoryapp.bootstrap.console import say
from memoryapp.bootstrap.environment import Interpreter
from memoryapp.bootstrap.errors import BootstrapError
from memoryapp.bootstrap.lock import Lock, split_lock
from memoryapp.env import ROOT
from memoryapp.locking import locked
from memoryapp.troubles import port_sentence


def parser() -> argparse.ArgumentParser:
    """The command line of `start`."""
    made = argparse.ArgumentParser(
        prog="manage.py start", description="Sets everything up and serves the chat."
    )
    made.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    made.add_argument("--port", type=int, default=8000, help="port to listen on (default: %(default)s)")
    made.add_argument("--model", help="a model of the catalogue (manage.py weights list), or a .gguf file")
    made.add_argument("--no-browser", action="store_true", help="do not open a browser")
    return made


def start(arguments: Sequence[str]) -> int:
    """Sets up what is missing, then becomes `manage.py serve`. Raises BootstrapError."""
    options = parser().parse_args(arguments)
    check_host(options.host, os.environ)
    check_port(options.host, options.port)
    preparation.choose_model(options.model, os.environ)
    # Asked first, so that a wrong name or too little memory is not told after ten minutes of compiling.
    # A model on a server needs no weights here; the embedder stays on this machine in any case.
    remote = provider.chosen() is not None
    found = preparation.find_weights([*([] if remote else [preparation.CHAT]), preparation.EMBEDDER])
    with exclusive() as keep:
        interpreter, lock, key = ensure_runtime(keep)
        if remote:
            preparation.ensure_embedder(interpreter, found[-1])
        else:
            model = preparation.ensure_model(interpreter, found)
            preparation.prove(interpreter, key, model, keep)
        lock_key = stamps.digest(lock.runtime)
        preparation.ensure_database(interpreter, lock_key, os.environ, keep)
        preparation.ensure_static(interpreter, lock_key, keep)
    serve = [str(interpreter.path), str(ROOT / "manage.py"), "serve", "--host", options.host]
    serve += ["--port", str(options.port), *(["--no-browser"] if options.no_browser else [])]
    return become(serve)


def exclusive() -> AbstractContextManager[int]:
    """Keeps a second bootstrap in the same folder waiting; yields the lock's descriptor."""
    return locked(
        ROOT / ".venv.lock", lambda: say("Another start or test is setting up this folder; waiting for it.")
    )


def ensure_runtime(keep: int) -> tuple[Interpreter, Lock, str]:
    """.venv with the runtime packages and the engine; returns it with the lock and the engine's key."""
    lock = split_lock((ROOT / "requirements.txt").read_text())
    interpreter = environment.ensure(keep)
    engine.check_possible(interpreter, lock)
    environment.install(interpreter, "runtime", "the program", lock.runtime, keep)
    return interpreter, lock, engine.ensure(interpreter, lock, keep)


def become(command: list[str]) -> int:
    """Replaces this process by another program; on Windows runs it and returns its exit code."""
    if sys.platform == "win32":
        return subprocess.call(command)
    sys.stdout.flush()
    os.execv(command[0], command)


def is_loopback(host: str) -> bool:
    """Whether an address is reachable from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_host(host: str, env: Mapping[str, str]) -> None:
    """Refuses to listen to other machines without logins. Raises BootstrapError."""
    if env.get("MODE") == "server" or is_loopback(host):
        return
    raise BootstrapError(
        f"--host {host} would let other machines in, and the local chat has no login. Use 127.0.0.1, or run "
        "with MODE=server and ALLOWED_HOSTS=<name>, which asks everyone for a login."
    )


def check_port(host: str, port: int) -> None:
    """Refuses a port that cannot be had. Raises BootstrapError."""
    if not 0 < port < 65536:
        raise BootstrapError(f"--port {port} is no port: it must be between 1 and 65535.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        if sys.platform != "win32":
            # Without it, connections of a server that has just ended keep the port for a minute.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host.strip("[]"), port))
        except OSError as error:
            raise BootstrapError(port_sentence(host, port, error)) from None
