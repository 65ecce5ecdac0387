"""Chooses the model: this machine's or a server's. A change needs no restart.

In local mode the choice holds for the machine and is a file in the data folder. In server mode it is in the
database, and every process on it follows a change.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from django.conf import settings

from chat.errors import BadAddress, ProviderError, Reason, Refused
from chat.llm.model_status import ModelState
from chat.llm.registry import registry
from chat.llm.remote.address import Address, parse_address, parse_addresses
from chat.llm.remote.errors import without_message
from chat.llm.remote.protocol import Capabilities
from chat.llm.remote.transport import Timeouts
from chat.models import User
from memoryapp.base import provider as stored_choice
from memoryapp.base.encryption import TemporaryCipher
from memoryapp.base.env import cache_dir
from memoryapp.base.local_servers import Program
from memoryapp.base.passphrase import is_encrypted
from memoryapp.base.provider import ServerChoice

from . import installation
from .model_servers import make_provider
from .own_model import check_engine, is_set_up, preparation

# A person waits on the page for the result of the test.
_TEST_PATIENCE = Timeouts(connect=5.0, answer=10.0, first=60.0, next=30.0)


def is_choice_allowed(owner: User) -> bool:
    """Return whether a page may change the choice: for the local owner or an admin, unless the start fixed
    it.
    """
    choice = read_choice()
    fixed = choice is not None and choice.fixed
    is_admin = owner.is_active and owner.is_staff and (settings.MODE == "local" or owner.is_superuser)
    return bool(is_admin and not fixed)


def read_choice() -> ServerChoice | None:
    """Return the chosen server, None for a model on this machine. The environment has precedence.

    Raises BadValue as `memoryapp.base.provider.read_choice` does.
    """
    if not is_choice_shared():
        return stored_choice.read_choice()
    fixed = stored_choice.read_choice({**os.environ, "MODE": "server"})
    return fixed or installation.read_model_server()


def is_choice_shared() -> bool:
    """Return whether the choice is in the database, for all processes on it, instead of a file."""
    return bool(settings.MODE == "server")


def _save_choice(choice: ServerChoice | None) -> None:
    if is_choice_shared():
        installation.store_model_server(choice)
    else:
        stored_choice.save_choice(choice)


@dataclass(slots=True)
class _Loaded:
    """How this process has loaded the model, and which choice that was."""

    version: int = 0
    parking: bool = False
    # Whether this process may load a model itself; None: it has loaded none yet.
    local: bool | None = None


_loaded = _Loaded()


def follow_choice() -> bool:
    """Use the model server that was chosen in another process since; returns whether there was another
    choice.

    Does nothing where the environment fixes the server, and before `load_chosen_model`.
    """
    if not is_choice_shared() or _loaded.local is None:
        return False
    if installation.read_model_server_version() == _loaded.version:
        return False
    load_chosen_model(parking=_loaded.parking, prove=check_engine, local=_loaded.local)
    return True


def load_chosen_model(
    *, parking: bool = False, prove: Callable[[Path], None] | None = None, local: bool = True
) -> None:
    """Start using the chosen model and return at once; running calls of the previous model finish.

    With `parking` the prompt caches of waiting conversations are saved; `prove` is called before a model
    is loaded into this process. Without `local` no model is loaded into it. A choice that cannot be used is
    reported as the model's state.
    """
    # Read first: a choice that is stored meanwhile is followed later.
    version = installation.read_model_server_version() if is_choice_shared() else 0
    _loaded.version, _loaded.parking, _loaded.local = version, parking, local
    choice = read_choice()
    if is_choice_shared():
        stored_choice.note_shared_choice(choice is not None and not choice.fixed)
    if choice is not None:
        try:
            registry.connect(make_provider(choice, parse_addresses(choice.url)))
        except BadAddress as problem:
            registry.set_failed(problem.reason)
        return
    if not local:
        registry.set_failed(Reason("worker-without-model-server"))
        return
    load = partial(
        registry.load,
        window=settings.WINDOW,
        fixed_prompts_folder=cache_dir() / "prompts",
        run_selftest=prove,
    )
    if not parking:
        load()
        return
    load(
        state_memory_mib=settings.PARKING_MIB,
        state_folder=settings.DATA_DIR / "parked",
        state_disk_mib=settings.PARKING_DISK_MIB,
        state_cipher=TemporaryCipher() if is_encrypted(Path(settings.DATA_DIR)) else None,
    )


def choose_server(
    owner: User, url: str, model: str, key: str, window: str, *, drop_key: bool = False
) -> None:
    """Use a model on a server from now on, also after a restart. Raises Refused."""
    _require_choice_allowed(owner)
    choice, _addresses = _parse_choice(url, model, key, window, drop_key)
    _use(choice)


def choose_found_server(owner: User, program: Program, model: str) -> None:
    """Use a model of a program on this machine from now on, also after a restart. Raises Refused."""
    _require_choice_allowed(owner)
    _use(_describe_found(program, model))


def store_found_server(owner: User, program: Program, model: str) -> None:
    """Store this choice for `load_chosen_model`, which is called later. Raises Refused."""
    _require_choice_allowed(owner)
    _save_choice(_describe_found(program, model))


def stop_preparation(owner: User) -> None:
    """Stop setting up the model of this machine; what is done so far is kept. Raises Refused."""
    _require_choice_allowed(owner)
    preparation.stop()


def _describe_found(program: Program, model: str) -> ServerChoice:
    return ServerChoice(parse_address(program.root).api, model, program=program.name)


def _use(choice: ServerChoice) -> None:
    # Choosing a server cancels a preparation that would switch to the model of this machine at its end.
    preparation.stop()
    if choice == read_choice() and registry.status().remote:
        registry.retry_connection()
        return
    _save_choice(choice)
    load_chosen_model(parking=True)


def choose_local(owner: User, then: Callable[[], None] = lambda: None) -> None:
    """Use the model on this machine again, and delete the server's address and key. Raises Refused.

    In local mode, engine and weights are set up first where they are missing or old, and the server is used
    until then. In server mode it is refused without them. A separate process tests the engine, because a
    start with a server did not. `then` is called once the model is being loaded.
    """
    _require_choice_allowed(owner)
    if settings.MODE != "local" and not is_set_up():
        raise Refused("own-model-not-set-up")
    if _must_prepare():
        preparation.begin(partial(_use_local, then))
        return
    _use_local(then)


def _must_prepare() -> bool:
    """Return whether `manage.py prepare` must run before the model of this machine is loaded.

    It must where something is missing, and after a start with a model server: such a start does not update
    an engine that an older version compiled.
    """
    return settings.MODE == "local" and (read_choice() is not None or not is_set_up())


def _use_local(then: Callable[[], None]) -> None:
    if read_choice() is None and registry.status().state in (
        ModelState.LOADING,
        ModelState.READY,
    ):
        return
    _save_choice(None)
    load_chosen_model(parking=True, prove=check_engine)
    then()


@dataclass(frozen=True, slots=True)
class Probed:
    """What the first server that answers can do, how many there are, and why some cannot be used, by host."""

    found: Capabilities
    servers: int
    problems: Sequence[tuple[str, Reason]]


def probe_server(
    owner: User, url: str, model: str, key: str, window: str, *, drop_key: bool = False
) -> Probed:
    """Return what the servers can do, without using them.

    Raises Refused with the reason why none can be used.
    Blocks while the servers answer: seconds, or minutes when one must load its model first.
    """
    _require_choice_allowed(owner)
    choice, addresses = _parse_choice(url, model, key, window, drop_key)
    provider = make_provider(choice, addresses, timeouts=_TEST_PATIENCE, is_probed=True)
    try:
        found = provider.connect()
        problems = [
            (server.address.host, without_message(server.problem))
            for server in provider.servers
            if server.problem is not None
        ]
        return Probed(found, len(provider.servers), problems)
    except ProviderError as problem:
        raise Refused(without_message(problem)) from problem
    finally:
        provider.close()


def describe_chosen_server() -> ServerChoice | None:
    """Return the chosen server with its key masked, or None for the model on this machine."""
    choice = read_choice()
    return None if choice is None else replace(choice, key="…" if choice.key else "")


def _parse_choice(
    url: str, model: str, key: str, window: str, drop_key: bool
) -> tuple[ServerChoice, tuple[Address, ...]]:
    try:
        addresses = parse_addresses(url)
    except BadAddress as problem:
        raise Refused(problem.reason) from problem
    least, most = stored_choice.WINDOW_RANGE
    if window.strip() and not (window.strip().isascii() and window.strip().isdigit()):
        raise Refused("window-not-a-number")
    tokens = int(window) if window.strip() else 0
    if tokens and not least <= tokens <= most:
        raise Refused("window-out-of-range", least=least, most=most)
    key = key.strip()
    if not stored_choice.is_key(key):
        raise Refused("key-malformed")
    written = " ".join(address.api for address in addresses)
    key = key or _find_reusable_key(addresses, drop_key)
    before = read_choice()
    program = before.program if before is not None and before.url == written else ""
    return ServerChoice(written, model.strip(), key, tokens, program), addresses


def _find_reusable_key(addresses: tuple[Address, ...], drop: bool) -> str:
    """Return the stored key if it belongs to these servers, else "": no other server may get it."""
    before = read_choice()
    if before is None or drop:
        return ""
    try:
        return before.key if set(addresses) <= set(parse_addresses(before.url)) else ""
    except BadAddress:
        return ""


def _require_choice_allowed(owner: User) -> None:
    if not is_choice_allowed(owner):
        raise Refused("provider-not-yours")
