"""Answers that are files, sent as they are made."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse
from django.utils.http import content_disposition_header

# Bytes that are sent at once: a step to the database's thread for each small piece would take longer than it.
_PIECE = 64 * 1024


def download(
    request: HttpRequest, parts: Iterator[bytes], name: str, content_type: str
) -> StreamingHttpResponse:
    """Send bytes as a file of this name, at no time holding more than a piece of it."""
    pieces = _pieces(parts)
    # Under ASGI Django would read an ordinary iterator to its end before it sends the first byte.
    content = _stepwise(pieces) if isinstance(request, ASGIRequest) else pieces
    disposition = content_disposition_header(as_attachment=True, filename=name) or "attachment"
    return StreamingHttpResponse(
        content, content_type=content_type, headers={"Content-Disposition": disposition}
    )


def _pieces(parts: Iterator[bytes]) -> Iterator[bytes]:
    held = bytearray()
    for part in parts:
        held += part
        if len(held) >= _PIECE:
            yield bytes(held)
            held.clear()
    if held:
        yield bytes(held)


async def _stepwise(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the pieces, each made in the thread that may ask the database."""
    step = sync_to_async(lambda: next(pieces, None))
    while (piece := await step()) is not None:
        yield piece
