"""Parses the URLs of a database, Redis, a mail server and an issuer of logins. Standard library only."""

import os
from importlib.util import find_spec
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from .env import BadValue


def parse_database_url(url: str, pool_size: int = 0) -> dict[str, Any]:
    """Return Django's settings for a `postgresql://user:password@host:port/name` URL. Raises BadValue.

    At most `pool_size` connections are open at once and used again; with 0, and where psycopg's pool is not
    installed, each use opens one.

    Query parameters such as `sslmode` are passed to libpq; `host` may be the folder of a socket. Error
    messages never contain the URL, since it may contain a password.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise BadValue(
            "DATABASE_URL cannot be read: is everything in the password percent-encoded?"
        ) from None
    options: dict[str, Any] = dict(parse_qsl(parts.query))
    if parts.scheme not in ("postgres", "postgresql"):
        raise BadValue("DATABASE_URL must begin with postgresql://; without it memoryapp uses SQLite.")
    if not (name := unquote(parts.path.strip("/"))):
        raise BadValue("DATABASE_URL must end with the name of a database.")
    host, port_text = options.pop("host", unquote(parts.hostname or "")), options.pop("port", str(port or ""))
    if pool_size < 0:
        raise BadValue(f"DATABASE_POOL_SIZE must be at least 0, not {pool_size}.")
    if pool_size and find_spec("psycopg_pool") is not None:
        # In seconds: how long a thread waits for a connection, and after how long the pool gives up a failing
        # attempt to connect. Its pauses double, so a long one would outlast an outage of the database. After
        # that the next thread lets it try at once.
        options["pool"] = {"min_size": 1, "max_size": pool_size, "timeout": 10.0, "reconnect_timeout": 2.0}
        options.setdefault("connect_timeout", "5")
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": name,
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": host,
        "PORT": port_text,
        "OPTIONS": options,
        # A connection that the server has closed meanwhile is replaced when it is taken from the pool.
        "CONN_HEALTH_CHECKS": "pool" in options,
    }


def parse_redis_url(url: str, *, is_server: bool, has_database: bool) -> str:
    """Return a `redis://user:password@host:port/number` URL (`rediss://` for TLS) as it is, "" for none.

    Raises BadValue, without the URL, where it cannot be read or nothing could use it.
    """
    if not url:
        return ""
    if not _is_redis_url(url):
        raise BadValue(
            "REDIS_URL must look like redis://:password@host:6379/0, or rediss:// for TLS, with everything "
            "in the password percent-encoded."
        )
    if not is_server or not has_database:
        raise BadValue(
            "REDIS_URL is for several processes on one PostgreSQL database. Set MODE=server and "
            "DATABASE_URL, or unset REDIS_URL."
        )
    return url


def _is_redis_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
        has_host = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    number = parts.path.strip("/")
    return has_host and parts.scheme in ("redis", "rediss") and (number or "0").isdecimal()


def parse_email_url(url: str, sender: str) -> dict[str, Any]:
    """Return Django's settings for a `smtp://user:password@host:587?tls=starttls|ssl|none` URL. Raises
    BadValue, without the URL, since that may contain a password.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise BadValue("EMAIL_URL cannot be read: is everything in the password percent-encoded?") from None
    tls = dict(parse_qsl(parts.query)).get("tls", "starttls")
    ports = {"starttls": 587, "ssl": 465, "none": 25}
    if parts.scheme != "smtp" or not parts.hostname:
        raise BadValue("EMAIL_URL must look like smtp://user:password@host:587?tls=starttls.")
    if tls not in ports:
        raise BadValue("EMAIL_URL must end with tls=starttls, tls=ssl or tls=none.")
    if "@" not in sender:
        raise BadValue("With EMAIL_URL, EMAIL_FROM must be the address from which emails are sent.")
    return {
        "EMAIL_HOST": parts.hostname,
        "EMAIL_PORT": port or ports[tls],
        "EMAIL_HOST_USER": unquote(parts.username or ""),
        "EMAIL_HOST_PASSWORD": unquote(parts.password or ""),
        "EMAIL_USE_TLS": tls == "starttls",
        "EMAIL_USE_SSL": tls == "ssl",
        "EMAIL_TIMEOUT": 10,
        "DEFAULT_FROM_EMAIL": sender,
    }


def envissuer(name: str) -> str:
    """Return the variable as the address of an issuer of logins, "" when it is unset. Raises BadValue."""
    address = os.environ.get(name, "").strip()
    parts = urlsplit(address)
    loopback = parts.scheme == "http" and parts.hostname in ("127.0.0.1", "::1", "localhost")
    if address and not (parts.hostname and (parts.scheme == "https" or loopback)):
        raise BadValue(f"{name} must begin with https://, not {address!r}.")
    return address.rstrip("/")
