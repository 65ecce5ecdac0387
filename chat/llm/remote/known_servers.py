"""What was found out about model servers, in a file: a restarted process need not probe them again."""

from __future__ import annotations

import hashlib
import json
import logging
import threading
from dataclasses import asdict
from pathlib import Path
from typing import Any

from chat.llm.roles import RoleSupport
from memoryapp.base.files import write_private_file

from .protocol import Capabilities, ConstraintSupport, Dialect

logger = logging.getLogger(__name__)

# Changes with the meaning of what is stored: what another version wrote is not used.
_FORMAT = 1
# Servers in the file; more are never used at the same time.
_MAX_SERVERS = 64


class KnownServers:
    """A file of capabilities by server and model. It holds no addresses. Callable from any thread.

    A file that is missing or broken counts as empty, and one that cannot be written is only logged.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()

    def read(self, address: str, model: str) -> Capabilities | None:
        """Return what was found at an address for a wanted model ("" for the first); None for nothing."""
        try:
            return _decode(self._read_all()[_make_key(address, model)])
        except (KeyError, TypeError, ValueError):
            return None

    def write(self, address: str, model: str, found: Capabilities) -> None:
        """Store what was found."""
        with self._lock:
            stored = self._read_all()
            key, value = _make_key(address, model), asdict(found)
            value |= {"control_tokens": sorted(found.control_tokens)}
            value["dialect"]["omitted"] = sorted(found.dialect.omitted)
            if stored.pop(key, None) == value:
                return
            stored[key] = value
            kept = dict(list(stored.items())[-_MAX_SERVERS:])
            try:
                write_private_file(self._path, json.dumps({"format": _FORMAT, "servers": kept}).encode())
            except OSError:
                logger.warning("what the model's server can do could not be stored", exc_info=True)

    def _read_all(self) -> dict[str, Any]:
        try:
            content = json.loads(self._path.read_bytes())
            is_ours = content["format"] == _FORMAT and isinstance(content["servers"], dict)
            return dict(content["servers"]) if is_ours else {}
        except (OSError, ValueError, KeyError, TypeError):
            return {}


def _make_key(address: str, model: str) -> str:
    return hashlib.blake2b(f"{address}\0{model}".encode(), digest_size=16).hexdigest()


def _decode(value: dict[str, Any]) -> Capabilities:
    """Return stored capabilities; raises KeyError, TypeError or ValueError."""
    dialect = value["dialect"]
    return Capabilities(
        **{
            **value,
            "constraint": ConstraintSupport(value["constraint"]),
            "control_tokens": frozenset(value["control_tokens"]),
            "roles": RoleSupport(**value["roles"]),
            "dialect": Dialect(**{**dialect, "omitted": frozenset(dialect["omitted"])}),
        }
    )
