"""What went wrong, read from pip's output. Standard library only."""

from enum import Enum


class Trouble(Enum):
    """A failure of pip that a person can do something about."""

    DISK_FULL = "disk full"
    CHECKSUM = "checksum"
    NO_PIP = "no pip"
    CERTIFICATE = "certificate"
    NO_NETWORK = "no network"
    REFUSED = "refused"


# In this order: pip ends a failed connection with "No matching distribution" as well.
_SIGNS: tuple[tuple[Trouble, tuple[str, ...]], ...] = (
    (Trouble.DISK_FULL, ("no space left on device", "errno 28", "disk quota exceeded", "errno 122")),
    (Trouble.CHECKSUM, ("do not match the hashes", "hashes are required in --require-hashes")),
    (Trouble.NO_PIP, ("no module named pip", "no module named 'pip'")),
    (Trouble.CERTIFICATE, ("certificate_verify_failed", "certificate verify failed")),
    (
        Trouble.NO_NETWORK,
        (
            "newconnectionerror",
            "connecttimeouterror",
            "nameresolutionerror",
            "readtimeouterror",
            "proxyerror",
            "protocolerror",
            "temporary failure in name resolution",
            "name or service not known",
            "network is unreachable",
            "connection refused",
            "connection reset",
            "read timed out",
        ),
    ),
    (
        Trouble.REFUSED,
        (
            "no matching distribution",
            "could not find a version",
            "http error",
            "client error",
            "server error",
        ),
    ),
)


def trouble_in(output: str) -> Trouble | None:
    """The kind of failure that pip's output tells of, or None when it names none that we know."""
    text = output.lower()
    for trouble, signs in _SIGNS:
        if any(sign in text for sign in signs):
            return trouble
    return None
