"""Parts of responses that several views use: errors, toasts, events for the page, and file downloads."""

from __future__ import annotations

import threading
import weakref
from collections.abc import AsyncIterator, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib import messages as notices
from django.core.handlers.asgi import ASGIRequest
from django.db import connections
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import content_disposition_header
from django_htmx.http import trigger_client_event

from chat.access import HtmxHttpRequest
from chat.error_messages import describe
from chat.errors import AppError, Overloaded, status_of
from chat.models import Message

# Chunks are this large because each costs a switch to the database thread.
_CHUNK_BYTES = 64 * 1024
# Each has a thread and a database connection until its end.
MAX_DOWNLOADS = 8
_downloads = threading.BoundedSemaphore(MAX_DOWNLOADS)


def respond_with_error(request: HtmxHttpRequest, problem: AppError, back: str) -> HttpResponse:
    """Respond with the sentence of an error: to htmx as a toast, to a plain form on the page at `back`."""
    sentence, status = describe(problem), status_of(problem)
    if not request.htmx:
        notices.error(request, sentence)
        return redirect(back)
    return add_toast(
        HttpResponse(sentence, status=status, content_type="text/plain; charset=utf-8"), sentence
    )


def forget_storage(response: HttpResponse) -> HttpResponse:
    """Let the browser remove what this site has stored in it, such as drafts of messages."""
    response.headers["Clear-Site-Data"] = '"storage"'
    return response


def build_message_url(message: Message) -> str:
    """Return the address that shows a message in its conversation."""
    return f"{reverse('conversation', args=[message.conversation_id])}?m={message.pk}#m-{message.pk}"


def add_toast(response: HttpResponse, sentence: str, undo: str = "") -> HttpResponse:
    """Add a toast to a response; `undo` is the address that its Undo button posts to."""
    return trigger_client_event(response, "toast", {"text": sentence} | ({"undo": undo} if undo else {}))


def announce_memory_change(response: HttpResponse, **events: Any) -> HttpResponse:
    """Trigger `memory-changed` in the page, and further events by name with their detail."""
    for name, detail in {"memory-changed": {}, **events}.items():
        trigger_client_event(response, name, detail)
    return response


def stream_download(
    request: HttpRequest, content: Iterator[bytes], name: str, content_type: str
) -> StreamingHttpResponse:
    """Stream bytes as a file download; memory holds one chunk at a time.

    Raises Overloaded beyond `MAX_DOWNLOADS` at a time.
    """
    chunks = _join_chunks(content)
    # Under ASGI Django reads a synchronous iterator to its end before it sends the first byte.
    if not _downloads.acquire(blocking=False):
        raise Overloaded("server-overloaded")
    stream: Any = _iterate_in_one_thread(chunks) if isinstance(request, ASGIRequest) else chunks
    disposition = content_disposition_header(as_attachment=True, filename=name) or "attachment"
    response = StreamingHttpResponse(
        stream, content_type=content_type, headers={"Content-Disposition": disposition}
    )
    # `release` runs once: when the response is closed or, if Django drops it unsent, when it is collected.
    release = weakref.finalize(response, _downloads.release)
    response._resource_closers.append(release)  # type: ignore[attr-defined]
    return response


def _join_chunks(content: Iterator[bytes]) -> Iterator[bytes]:
    """Join small pieces to chunks of at least `_CHUNK_BYTES`."""
    held = bytearray()
    for piece in content:
        held += piece
        if len(held) >= _CHUNK_BYTES:
            yield bytes(held)
            held.clear()
    if held:
        yield bytes(held)


async def _iterate_in_one_thread(chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the chunks; all are made in one thread, since a query belongs to the thread that began it."""
    thread = ThreadPoolExecutor(1, "download")
    step = sync_to_async(lambda: next(chunks, None), thread_sensitive=False, executor=thread)
    try:
        while (chunk := await step()) is not None:
            yield chunk
    finally:
        # In its own thread: a connection and a generator belong to the thread that uses them.
        thread.submit(_close_all, chunks)
        thread.shutdown(wait=False)


def _close_all(chunks: Iterator[bytes]) -> None:
    if isinstance(chunks, Generator):
        chunks.close()
    connections.close_all()
