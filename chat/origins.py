"""Which pages are our own, by the Origin header that browsers send."""

from __future__ import annotations

from django.conf import settings

from memoryapp.base.refusals import log_refused


def is_own_origin(origin: str | None, scheme: str, host: str) -> bool:
    """Return whether an Origin header names exactly our scheme, host and port, or one of ALLOWED_ORIGINS."""
    return origin is not None and (origin == f"{scheme}://{host}" or origin in settings.ALLOWED_ORIGINS)


def refuse_origin(origin: str | None, scheme: str, host: str) -> None:
    """Log that an Origin is none of our own."""
    log_refused("its Origin", origin, [f"{scheme}://{host}", *settings.ALLOWED_ORIGINS])


def public_url(own: str) -> str:
    """Return the address of this server for browsers, without a slash at its end.

    It is the first of ALLOWED_ORIGINS, otherwise the first of ALLOWED_HOSTS over HTTPS; `own`, the address at
    which the server listens, where neither a proxy nor TLS is configured.
    """
    if settings.ALLOWED_ORIGINS:
        return f"{settings.ALLOWED_ORIGINS[0]}{settings.BASE_PATH}"
    has_proxy = settings.TRUSTED_PROXIES or getattr(settings, "SECURE_PROXY_SSL_HEADER", None) is not None
    host = next((host.removeprefix(".") for host in settings.ALLOWED_HOSTS), "*")
    if host == "*" or not (settings.SECURE_SSL_REDIRECT or has_proxy):
        return own.rstrip("/") + settings.BASE_PATH
    return f"https://{host}{settings.BASE_PATH}"
