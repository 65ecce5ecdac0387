"""Finds the server that has this machine's engine, or starts one for as long as the terminal is open."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils.translation import gettext as _

from chat.actions.tokens import create_token, revoke_token
from chat.management.engine_lock import EngineTaken, lock_engine
from chat.models import ApiToken
from memoryapp.env import ROOT
from memoryapp.locking import locked

_NAME = "Terminal"
_STARTING_SECONDS = 120.0
_ENDING_SECONDS = 20.0


@contextmanager
def server(model: str) -> Iterator[str]:
    """Give the address of a server on this machine's data; one that was started here ends with the block.

    Raises CommandError with a sentence where there can be none.
    """
    if (address := _running()) is not None:
        if model:
            raise CommandError(
                _("memoryapp is running at %s with the model that it was started with. Leave --model out.")
                % address
            )
        yield address
        return
    with locked(Path(settings.DATA_DIR) / "migrate.lock"):
        call_command("migrate", interactive=False, verbosity=0)
    process = _started(model)
    try:
        yield _awaited(process)
    finally:
        # It saves what it is writing and puts its work back.
        process.terminate()
        try:
            process.wait(_ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()


def _running() -> str | None:
    try:
        lock_engine(settings.DATA_DIR, "chat").close()
    except EngineTaken as taken:
        if taken.is_server:
            return taken.holder.rstrip("/")
        raise
    return None


def _listens(address: str) -> bool:
    """Return whether a server answers there: it says where it will listen before it does."""
    there = urlsplit(address)
    try:
        socket.create_connection((there.hostname, there.port), timeout=1).close()
    except OSError:
        return False
    return True


def _started(model: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(ROOT / "manage.py"), "serve", "--no-browser", "--port", "0"]
    environment = dict(os.environ) | ({"MODEL": model} if model else {})
    environment.setdefault("DJANGO_SETTINGS_MODULE", "memoryapp.settings")
    # A session of its own: Ctrl-C here stops a reply and not the server.
    return subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def _awaited(process: subprocess.Popen[str]) -> str:
    deadline = time.monotonic() + _STARTING_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            said = (process.stderr.read() if process.stderr else "").strip().splitlines()
            raise CommandError(said[-1] if said else _("The server ended at once."))
        try:
            if (address := _running()) is not None and _listens(address):
                return address
        except EngineTaken:
            # It has the lock and has not said yet where it listens.
            pass
        time.sleep(0.1)
    raise CommandError(_("The server did not start in time."))


@contextmanager
def token(owner: Any) -> Iterator[str]:
    """Give a token for this terminal alone, which is revoked at its end; those of dead terminals are too."""
    _revoke_what_was_left(owner)
    name = f"{_NAME} {os.getpid()}"
    secret = create_token(owner, name)
    try:
        yield secret
    finally:
        for mine in ApiToken.objects.for_owner(owner).standing().filter(name=name):
            revoke_token(mine)


def _revoke_what_was_left(owner: Any) -> None:
    for left in ApiToken.objects.for_owner(owner).standing().filter(name__startswith=f"{_NAME} "):
        number = left.name.removeprefix(f"{_NAME} ")
        if number.isdigit() and (int(number) == os.getpid() or not _lives(int(number))):
            revoke_token(left)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        # It is somebody else's, so it lives.
        return True
    return True
