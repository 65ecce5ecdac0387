"""Server-sent events below `/v1/`: their headers, and a short stream by which doctor checks a proxy."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from django.http import HttpRequest, StreamingHttpResponse

from chat.actions.owners import is_local
from chat.api.problems import method, not_found

EVENT_STREAM = "text/event-stream; charset=utf-8"
# The lines of a stream check, and the seconds between two of them.
CHECK_LINES, CHECK_PAUSE_SECONDS = 5, 0.25
# Anybody may ask for one, so a process sends this many at a time.
MAX_CHECKS = 8
BUSY_LINE = "data: busy\n\n"


def stream_events(events: AsyncIterator[str]) -> StreamingHttpResponse:
    """Return a response that sends server-sent events from the event loop, each as soon as it is there."""
    response = StreamingHttpResponse(events, content_type=EVENT_STREAM)
    # Without this header nginx buffers the stream.
    response.headers["X-Accel-Buffering"] = "no"
    return response


class StreamCheck:
    """Answers with a few lines that are sent slowly, with the headers of a streamed reply; without a login.

    `manage.py doctor` asks for it through the proxy. Its path is below that of the replies, so a rule of the
    proxy for `/v1/` counts for both. It holds no thread while it waits. Beyond `MAX_CHECKS` at a time the
    stream has one line, `BUSY_LINE`.
    """

    def __init__(self) -> None:
        # Changed in the event loop only.
        self._running = 0

    def respond(self, request: HttpRequest) -> StreamingHttpResponse:
        """Return the stream. Raises Problem in local mode, which has no proxy, and for other methods."""
        if is_local():
            raise not_found()
        if request.method != "GET":
            raise method("GET")
        return stream_events(self._send_lines())

    async def _send_lines(self) -> AsyncIterator[str]:
        if self._running >= MAX_CHECKS:
            yield BUSY_LINE
            return
        self._running += 1
        try:
            for number in range(1, CHECK_LINES + 1):
                if number > 1:
                    await asyncio.sleep(CHECK_PAUSE_SECONDS)
                yield f"data: {number}\n\n"
        finally:
            self._running -= 1


stream_check = StreamCheck()
