"""The servers of the chosen model: the provider that uses them, and what state each is in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from django.conf import settings
from django.utils.crypto import salted_hmac

from chat.errors import ProviderError, Reason
from chat.llm.registry import registry
from chat.llm.remote.address import Address
from chat.llm.remote.errors import without_message
from chat.llm.remote.known_servers import KnownServers
from chat.llm.remote.provider import RemoteProvider
from chat.llm.remote.server_use import ServerUse
from chat.llm.remote.transport import Timeouts
from memoryapp.base.announcements import Announcements
from memoryapp.base.local_servers import find_program, is_other_program
from memoryapp.base.message_bus import bus
from memoryapp.base.provider import ServerChoice

from .owners import is_local
from .processes import is_database_shared

# From the secret key and this, the key is made that keeps the owners' prefixes apart on the servers. All
# processes have the same one, so that any of them continues a conversation's prefix.
_SALT_OF_PREFIXES = "chat.prefixes"

# In the data folder: what the probe found. It can be deleted.
_KNOWN_SERVERS = "known_servers.json"


def make_provider(
    choice: ServerChoice,
    addresses: Sequence[Address],
    *,
    timeouts: Timeouts | None = None,
    is_probed: bool = False,
) -> RemoteProvider:
    """Return the provider for a choice. It is not connected.

    With `is_probed`, what an earlier process found out about the servers is not used and not replaced.
    """
    use = ServerUse(
        model=choice.model,
        window=choice.window or settings.WINDOW,
        places=settings.PROVIDER_PLACES,
        several_owners=not is_local(),
        several_processes=is_database_shared(),
        salt_key=salted_hmac(_SALT_OF_PREFIXES, "owners", algorithm="sha256").digest(),
        share=Announcements if bus.is_used else None,
        known_servers=None if is_probed else KnownServers(settings.DATA_DIR / _KNOWN_SERVERS),
        check_program=partial(_check_program, choice.program),
    )
    return RemoteProvider(*addresses, key=choice.key, timeouts=timeouts, use=use)


def _check_program(name: str, address: Address) -> None:
    """Raise ProviderError if another program than the one with this name answers at the address.

    It accepts any program if `name` is "", and an address at which nothing answers.
    """
    program = find_program(name)
    if program is not None and is_other_program(program, address.root):
        raise ProviderError("server-other-program", program=program.title, host=address.host)


@dataclass(frozen=True, slots=True)
class ServerState:
    """One of several servers: its host, how many calls it has of how many, and why it is not used (None for a
    server that is).
    """

    host: str
    open_calls: int
    places: int
    problem: Reason | None
    is_tried: bool


def describe_servers() -> list[ServerState]:
    """Return the state of each server as this process sees it; none where there is only one."""
    servers = registry.list_servers()
    if len(servers) < 2:
        return []
    return [
        ServerState(
            server.address.host,
            len(server.places.active),
            server.places.capacity,
            None if (problem := server.explain()) is None else without_message(problem),
            server.found is not None or problem is not None,
        )
        for server in servers
    ]
