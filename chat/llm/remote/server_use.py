"""How the servers of a model are used: what is the same for all of them."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from .address import Address
from .known_servers import KnownServers
from .shared_calls import ShareList


@dataclass(frozen=True, slots=True)
class ServerUse:
    """How servers are used: the wanted model ("" for the first), its window and places (0 for the server's).

    With `several_owners`, cached tokens are counted only on a server that separates their prefixes: elsewhere
    the count could tell what another owner wrote. With `several_processes`, others use the same servers.
    """

    model: str = ""
    window: int = 0
    places: int = 0
    several_owners: bool = False
    several_processes: bool = False
    salt_key: bytes = field(default_factory=partial(secrets.token_bytes, 32), repr=False)
    # What earlier processes found out about servers.
    known_servers: KnownServers | None = None
    # Tells the other processes which calls this one has.
    share: ShareList | None = None
    # Raises ProviderError where another program than the chosen one answers at an address.
    check_program: Callable[[Address], None] = lambda address: None
