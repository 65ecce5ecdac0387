"""Whose model is used, this machine's or a server's: chosen for the whole machine, without a restart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from chat.llm.registry import registry
from chat.llm.remote.address import Address, BadAddress, parse
from chat.llm.remote.capabilities import Capabilities
from chat.llm.remote.provider import RemoteProvider
from chat.llm.remote.troubles import told_alone
from chat.llm.remote.wire import Patience
from chat.llm.state import ModelState
from chat.llm.types import ProviderError
from memoryapp import provider as kept
from memoryapp.provider import Choice

from .messages import Refused
from .proving import prove

# Somebody sits before the page and waits for what the test finds.
_TRYING = Patience(connect=5.0, answer=10.0, first=60.0, next=30.0)


def may_choose(owner: Any) -> bool:
    """Return whether a page may change the choice: the local machine's owner, unless the start fixed it."""
    choice = kept.chosen()
    fixed = choice is not None and choice.fixed
    return bool(settings.MODE == "local" and owner.is_staff and not fixed)


def use_chosen(*, parking: bool = False, prove: Callable[[Path], None] | None = None) -> None:
    """Begin to use the chosen model, and return at once; what was used before ends what it has begun.

    With `parking` prompt caches of waiting conversations are kept; `prove` is called before a model is loaded
    into this process. A choice that cannot be understood is told
    as the model's state.
    """
    choice = kept.chosen()
    if choice is not None:
        try:
            registry.connect(_provider(choice, parse(choice.url)))
        except BadAddress as problem:
            registry.fail(str(problem))
        return
    if not parking:
        registry.load(window=settings.WINDOW, prove=prove)
        return
    registry.load(
        window=settings.WINDOW,
        parking_mib=settings.PARKING_MIB,
        folder=settings.DATA_DIR / "parked",
        folder_mib=settings.PARKING_DISK_MIB,
        prove=prove,
    )


def choose_server(owner: Any, url: str, model: str, key: str, window: str, *, drop_key: bool = False) -> None:
    """Use a model on a server from now on, also after the next start; raises Refused."""
    _require_choice(owner)
    choice, _address = _understood(url, model, key, window, drop_key)
    if choice == kept.chosen() and registry.status().remote:
        registry.nudge()
        return
    kept.keep(choice)
    use_chosen(parking=True)


def choose_local(owner: Any) -> None:
    """Use the model on this machine again, and forget the server with its key; raises Refused.

    The engine is tried in a process of its own first: a start with a server chosen has not tried it.
    """
    _require_choice(owner)
    if kept.chosen() is None and registry.status().state in (ModelState.LOADING, ModelState.READY):
        return
    kept.keep(None)
    use_chosen(parking=True, prove=prove)


def try_out(
    owner: Any, url: str, model: str, key: str, window: str, *, drop_key: bool = False
) -> Capabilities:
    """Return what a server can do, without using it; raises Refused with the reason it cannot be used.

    Blocks while the server is asked, some seconds or, where it must load its model first, minutes.
    """
    _require_choice(owner)
    provider = _provider(*_understood(url, model, key, window, drop_key), patience=_TRYING)
    try:
        return provider.connect()
    except ProviderError as problem:
        raise Refused(told_alone(problem)) from problem
    finally:
        provider.close()


def _understood(url: str, model: str, key: str, window: str, drop_key: bool) -> tuple[Choice, Address]:
    try:
        address = parse(url)
    except BadAddress as problem:
        raise Refused(str(problem)) from problem
    least, most = kept.WINDOW_RANGE
    if window.strip() and not (window.strip().isascii() and window.strip().isdigit()):
        raise Refused(_("Write the window as a whole number of tokens."))
    tokens = int(window) if window.strip() else 0
    if tokens and not least <= tokens <= most:
        refusal = _("Choose a window between %(least)d and %(most)d tokens.")
        raise Refused(refusal % {"least": least, "most": most})
    key = key.strip()
    if not kept.is_key(key):
        raise Refused(_("This is no key: it holds a blank, or a letter that keys have not."))
    return Choice(address.api, model.strip(), key or _same_key(address, drop_key), tokens), address


def _same_key(address: Address, drop: bool) -> str:
    """Return the key that is kept for this very server: it must reach no other one."""
    before = kept.chosen()
    if before is None or drop:
        return ""
    try:
        return before.key if parse(before.url) == address else ""
    except BadAddress:
        return ""


def _provider(choice: Choice, address: Address, *, patience: Patience | None = None) -> RemoteProvider:
    window = choice.window or settings.WINDOW
    return RemoteProvider(
        address, model=choice.model, key=choice.key, window=window, patience=patience or Patience()
    )


def _require_choice(owner: Any) -> None:
    if not may_choose(owner):
        raise Refused(_("Which model is used is set where the app is started."))


def current() -> Choice | None:
    """Return the chosen server without its key, None for the model on this machine."""
    choice = kept.chosen()
    return None if choice is None else replace(choice, key="…" if choice.key else "")
