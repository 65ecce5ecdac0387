"""The first source: a file on Hugging Face, or on the mirror that HF_ENDPOINT names."""

import http.client
import os
import ssl
import urllib.error
import urllib.request
from pathlib import Path

from .disk import raise_if_full
from .entries import File
from .errors import NoNetwork, Refused
from .progress import Progress

# A machine without a way there should find out soon: there is a second source.
CONNECT_SECONDS = 5
READ_SECONDS = 60
_BLOCK = 1 << 20


class _Connection(http.client.HTTPSConnection):
    """Connects within a short time, then reads with a longer one."""

    def connect(self) -> None:
        self.timeout = CONNECT_SECONDS
        super().connect()
        self.sock.settimeout(READ_SECONDS)


class _Handler(urllib.request.HTTPSHandler):
    def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        # mypy: do_open takes any callable that makes a connection.
        return self.do_open(_Connection, request, context=ssl.create_default_context())


def from_hub(file: File, part: Path, progress: Progress) -> None:
    """Appends what `part` lacks of the file; whether it is the right file is for the caller to check.

    Raises NoNetwork, Refused or DiskFull; what has arrived stays in `part`.
    """
    if file.hf is None:
        raise Refused(file.name, "it is not on Hugging Face")
    base = os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")
    have = part.stat().st_size if part.exists() else 0
    if have >= file.bytes:
        part.unlink()
        have = 0
    url = f"{base}/{file.hf.repo}/resolve/main/{file.hf.file}"
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})  # noqa: S310
    try:
        with urllib.request.build_opener(_Handler).open(request, timeout=READ_SECONDS) as answer:
            resumed = answer.status == http.client.PARTIAL_CONTENT
            done = have if resumed else 0
            with part.open("ab" if resumed else "wb") as out:
                while block := answer.read(_BLOCK):
                    out.write(block)
                    done += len(block)
                    if done > file.bytes:
                        raise Refused(file.name, "the file there is larger than the one we know")
                    progress(file.name, done, file.bytes)
    except urllib.error.HTTPError as error:
        raise Refused(file.name, f"{error.code} {error.reason}") from error
    except OSError as error:
        raise_if_full(error, part.parent, file.bytes - have)
        raise NoNetwork(file.name) from error
    except http.client.HTTPException as error:
        raise NoNetwork(file.name) from error
    if done < file.bytes:
        raise NoNetwork(file.name, "the connection ended early")
