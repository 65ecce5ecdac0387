"""`manage.py start`: sets everything up and starts the server."""

import argparse
import ipaddress
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager

from memoryapp.base import provider
from memoryapp.base.env import ROOT
from memoryapp.base.error_text import explain_port_error
from memoryapp.base.locking import hold_lock
from memoryapp.bootstrap import engine, environment, model_offer, preparation
from memoryapp.bootstrap.console import say
from memoryapp.bootstrap.encrypted_data import EncryptedData
from memoryapp.bootstrap.environment import Interpreter, Lock, split_lock
from memoryapp.bootstrap.errors import BootstrapError

# Added to the niceness of a preparation, and so of its compiler.
_LOW_PRIORITY = 10


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = argparse.ArgumentParser(
        prog="manage.py start", description="Sets everything up and serves the chat."
    )
    made.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    made.add_argument("--port", type=int, default=8000, help="port to listen on (default: %(default)s)")
    made.add_argument("--model", help="a model of the catalogue (manage.py weights list), or a .gguf file")
    made.add_argument(
        "--use",
        metavar="PROGRAM[:MODEL]",
        help="a model of a program that serves it on this machine, such as ollama:qwen3:4b",
    )
    made.add_argument("--no-browser", action="store_true", help="do not open a browser")
    return made


def start(arguments: Sequence[str]) -> int:
    """Set up what is missing, then replace this process by `manage.py serve`. Raises BootstrapError."""
    options = build_parser().parse_args(arguments)
    check_host(options.host, os.environ)
    check_port(options.host, options.port)
    preparation.choose_model(options.model, os.environ)
    # Asked for first, so that the rest needs nobody at the keyboard.
    encrypted = EncryptedData()
    if encrypted.is_encrypted:
        encrypted.open_early()
    use = choose_server(options)
    # Checked first, so that a wrong name or too little memory is reported before a compilation of ten
    # minutes. A remote model needs neither engine nor weights; the embedder always runs on this machine.
    remote = bool(use) or provider.is_remote()
    found = preparation.find_weights([*([] if remote else [preparation.CHAT]), preparation.EMBEDDER])
    with hold_setup_lock() as keep:
        interpreter, lock = ensure_packages(keep, with_engine=not remote)
        if os.environ.get("DATABASE_URL", "").strip():
            ensure_postgres(interpreter, lock, keep)
        if os.environ.get("REDIS_URL", "").strip():
            ensure_redis(interpreter, lock, keep)
        encrypted.open(interpreter.path)
        if remote:
            preparation.ensure_embedder(interpreter, found[-1])
        else:
            key = engine.ensure_engine(interpreter, lock, keep)
            model = preparation.ensure_model(interpreter, found)
            preparation.check_engine_decodes(interpreter, key, model, keep)
        lock_key = environment.hash_of(lock.runtime)
        preparation.ensure_database(interpreter, lock_key, os.environ, keep, encrypted)
        preparation.ensure_static(interpreter, lock_key, keep)
    serve = [str(interpreter.path), str(ROOT / "manage.py"), "serve", "--host", options.host]
    serve += ["--port", str(options.port), *(["--no-browser"] if options.no_browser else [])]
    serve += ["--use", use] if use else []
    with encrypted.hand_over() as (descriptors, variables):
        os.environ.update(variables)
        return replace_process(serve, descriptors)


def prepare(arguments: Sequence[str]) -> int:
    """Set up the engine and the weights beside a running server that uses another model.

    Runs at low priority. Raises BootstrapError.
    """
    argparse.ArgumentParser(
        prog="manage.py prepare", description="Sets up the model of this machine, and serves nothing."
    ).parse_args(arguments)
    if hasattr(os, "nice"):
        os.nice(_LOW_PRIORITY)
    found = preparation.find_weights([preparation.CHAT, preparation.EMBEDDER])
    with hold_setup_lock() as keep:
        interpreter, lock = ensure_packages(keep, with_engine=True)
        engine.ensure_engine(interpreter, lock, keep)
        preparation.ensure_model(interpreter, found)
    return 0


def choose_server(options: argparse.Namespace) -> str:
    """Return the model of another program on this machine as `PROGRAM:MODEL`, "" for none.

    Raises BootstrapError, and BadValue.
    """
    if options.use and options.model:
        raise BootstrapError("--use and --model exclude each other. Give one of them.")
    if options.use:
        return model_offer.check_use(options.use, os.environ)
    return model_offer.offer_found(options.port, os.environ)


def hold_setup_lock() -> AbstractContextManager[int]:
    """Return a context manager that holds the set-up lock of this folder and yields its descriptor; a second
    bootstrap waits.
    """
    return hold_lock(
        ROOT / ".venv.lock", lambda: say("Another start or test is setting up this folder; waiting for it.")
    )


def ensure_packages(keep: int, *, with_engine: bool) -> tuple[Interpreter, Lock]:
    """Ensure .venv and the runtime packages; return the interpreter and the lock. Raises BootstrapError.

    With `with_engine` it first checks that the engine can be compiled where it is missing.
    """
    lock = split_lock((ROOT / "requirements.txt").read_text())
    interpreter = environment.ensure_venv(keep)
    if with_engine:
        engine.check_can_compile(interpreter, lock)
    environment.install_once(interpreter, "runtime", "the program", lock.runtime, keep)
    return interpreter, lock


def ensure_postgres(interpreter: Interpreter, lock: Lock, keep: int) -> None:
    """Ensure the packages that a PostgreSQL database needs. Raises BootstrapError."""
    environment.install_once(interpreter, "postgres", "what PostgreSQL needs", lock.postgres, keep)


def install_postgres(arguments: Sequence[str]) -> int:
    """Install the packages that a PostgreSQL database needs, for `manage.py move`. Raises BootstrapError."""
    with hold_setup_lock() as keep:
        interpreter, lock = ensure_packages(keep, with_engine=False)
        ensure_postgres(interpreter, lock, keep)
    return 0


def ensure_redis(interpreter: Interpreter, lock: Lock, keep: int) -> None:
    """Ensure the package that Redis needs. Raises BootstrapError."""
    environment.install_once(interpreter, "redis", "what Redis needs", lock.redis, keep)


def replace_process(command: list[str], descriptors: Sequence[int] = ()) -> int:
    """Replace this process by another program; on Windows run it and return its exit code.

    The program inherits the `descriptors`, which are inheritable already.
    """
    if sys.platform == "win32":
        if descriptors:
            raise BootstrapError("Encrypted data can be used on Linux and on Macs only.")
        return subprocess.call(command)
    sys.stdout.flush()
    os.execv(command[0], command)


def is_loopback(host: str) -> bool:
    """Return whether an address is reachable from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_host(host: str, env: Mapping[str, str]) -> None:
    """Raise BootstrapError for an address that is reachable from other machines in local mode, which has no
    login.
    """
    if env.get("MODE") == "server" or is_loopback(host):
        return
    raise BootstrapError(
        f"--host {host} would let other machines in, and the local chat has no login. Use 127.0.0.1, or run "
        "with MODE=server and ALLOWED_HOSTS=<name>, which asks everyone for a login."
    )


def check_port(host: str, port: int) -> None:
    """Raise BootstrapError for a port on which the server could not listen."""
    if not 0 < port < 65536:
        raise BootstrapError(f"--port {port} is no port: it must be between 1 and 65535.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        if sys.platform != "win32":
            # Without it, connections of a server that has just ended would block the port for a minute.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host.strip("[]"), port))
        except OSError as error:
            raise BootstrapError(explain_port_error(host, port, error)) from None
