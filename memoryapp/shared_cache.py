"""Django's cache that processes share in Redis: the counts of logins, the used codes of a second factor.

While Redis does not answer, each process counts by itself. It keeps a copy of what it stored, so that an
outage takes nothing back that this process has counted.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from django.core.cache.backends.base import DEFAULT_TIMEOUT
from django.core.cache.backends.locmem import LocMemCache
from django.core.cache.backends.redis import RedisCache, RedisCacheClient

from memoryapp.base.redis import Availability

T = TypeVar("T")


class _Access:
    """The connections to one Redis, and whether it answers: one of it for all caches of this process."""

    def __init__(self) -> None:
        self.availability = Availability("limits such as those of logins count in each process by itself")
        self.client: Any = None


# Django makes a cache for each thread and each asynchronous task, and never closes the cache of a task.
_accesses: dict[tuple[str, str], _Access] = {}
_lock = threading.Lock()


class JsonSerializer:
    """Stores values as JSON: reading a pickle from Redis would run what others wrote there."""

    def dumps(self, value: Any) -> Any:
        """Return what is stored; a number stays one, so that Redis can count."""
        return value if type(value) is int else json.dumps(value)

    def loads(self, data: Any) -> Any:
        """Return the value."""
        return json.loads(data)


class SharedCache(RedisCache):
    """Django's cache in Redis; in the memory of this process while Redis does not answer."""

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        # Once more at once: the server may have closed a connection that was not used for long.
        options = {**params.get("OPTIONS", {}), "serializer": JsonSerializer, "retry": Retry(NoBackoff(), 1)}
        super().__init__(server, {**params, "OPTIONS": options})
        local = {**params, "OPTIONS": {"MAX_ENTRIES": 100_000}}
        self._local = LocMemCache(f"{server} {self.key_prefix}", local)
        with _lock:
            self._access = _accesses.setdefault((server, self.key_prefix), _Access())
            if self._access.client is None:
                self._access.client = RedisCacheClient([server], **options)

    @property
    def _cache(self) -> Any:
        return self._access.client

    @property
    def _availability(self) -> Availability:
        return self._access.availability

    def add(self, key: Any, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: Any = None) -> bool:
        """Store a value where there is none."""

        def add() -> bool:
            if added := super(SharedCache, self).add(key, value, timeout, version):
                self._local.set(key, value, timeout, version)
            return bool(added)

        return self._availability.ask(add, lambda: self._local.add(key, value, timeout, version))

    def get(self, key: Any, default: Any = None, version: Any = None) -> Any:
        """Return a value."""
        return self._ask(super().get, self._local.get, key, default, version)

    def set(self, key: Any, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: Any = None) -> None:
        """Store a value."""
        self._local.set(key, value, timeout, version)
        self._ask(super().set, _do_nothing, key, value, timeout, version)

    def touch(self, key: Any, timeout: Any = DEFAULT_TIMEOUT, version: Any = None) -> bool:
        """Let a value stay for another time."""
        self._local.touch(key, timeout, version)
        return bool(self._ask(super().touch, self._local.touch, key, timeout, version))

    def delete(self, key: Any, version: Any = None) -> bool:
        """Remove a value."""
        was_here = self._local.delete(key, version)
        return bool(self._ask(super().delete, lambda *_: was_here, key, version))

    def has_key(self, key: Any, version: Any = None) -> bool:
        """Return whether there is a value."""
        return bool(self._ask(super().has_key, self._local.has_key, key, version))

    def incr(self, key: Any, delta: int = 1, version: Any = None) -> int:
        """Add to a number. Raises ValueError where there is none."""
        return int(self._ask(super().incr, self._local.incr, key, delta, version))

    def get_many(self, keys: Any, version: Any = None) -> dict[Any, Any]:
        """Return several values."""
        return self._ask(super().get_many, self._local.get_many, list(keys), version)

    def set_many(self, data: Any, timeout: Any = DEFAULT_TIMEOUT, version: Any = None) -> list[Any]:
        """Store several values."""
        for key, value in data.items():
            self.set(key, value, timeout, version)
        return []

    def delete_many(self, keys: Any, version: Any = None) -> None:
        """Remove several values."""
        for key in keys:
            self.delete(key, version)

    def clear(self) -> None:
        """Remove all values of this cache; Django's own would empty the whole database of Redis."""
        self._local.clear()
        pattern = self.make_key("*")

        def clear() -> None:
            client = self._cache.get_client(None, write=True)
            for key in client.scan_iter(match=pattern, count=1000):
                client.delete(key)

        self._availability.ask(clear, lambda: None)

    def _ask(self, shared: Callable[..., T], local: Callable[..., T], *arguments: Any) -> T:
        return self._availability.ask(lambda: shared(*arguments), lambda: local(*arguments))


def _do_nothing(*_arguments: Any) -> None:
    return None
