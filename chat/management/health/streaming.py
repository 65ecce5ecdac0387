"""Check of `manage.py doctor` in server mode: whether the proxy passes on a streamed reply as it grows."""

from __future__ import annotations

import time

import httpx2

from chat.api.openai.event_stream import BUSY_LINE, CHECK_LINES, CHECK_PAUSE_SECONDS

from .findings import Finding, broken, note, ok

_PATIENCE = 8.0
# Sent one by one, the lines arrive over this many seconds.
_SENDING_SECONDS = (CHECK_LINES - 1) * CHECK_PAUSE_SECONDS
# A busy machine may read the lines late, and then several at once.
_TRIES = 2


def check_streaming(url: str) -> Finding:
    """Read the short stream of our server at its public address `url`, and compare when its lines arrive."""
    finding = note("streaming", "not checked.")
    for _ in range(_TRIES):
        try:
            finding = _read_stream(f"{url}/v1/stream-check")
        except httpx2.HTTPError as error:
            return broken("streaming", f"a stream breaks off: {str(error) or type(error).__name__}.")
        if finding.state.value != "broken":
            break
    return finding


def _read_stream(address: str) -> Finding:
    arrived: list[float] = []
    # As programs ask; the answer may be compressed.
    with httpx2.stream("GET", address, timeout=_PATIENCE, headers={"Accept": "text/event-stream"}) as answer:
        if answer.status_code != 200:
            return note("streaming", f"not checked: {address} answers {answer.status_code}.")
        for line in answer.iter_lines():
            if line == BUSY_LINE.strip():
                return note("streaming", "not checked: too many ask for it at this moment. Try again.")
            if line:
                arrived.append(time.monotonic())
    return judge_arrivals(arrived)


def judge_arrivals(arrived: list[float]) -> Finding:
    """Judge by the times, in seconds, at which the lines of the stream arrived."""
    if len(arrived) != CHECK_LINES:
        return broken(
            "streaming",
            f"{len(arrived)} of {CHECK_LINES} lines of a stream arrive. Does the proxy cut it off?",
        )
    took = arrived[-1] - arrived[0]
    if took >= _SENDING_SECONDS / 2:
        return ok("streaming", "the lines of a streamed reply arrive one by one")
    return broken(
        "streaming",
        "the proxy holds streamed replies back: all lines arrive at once, so programs see a reply only "
        "at its end. In nginx set proxy_buffering off for /v1/; for other proxies see “Streamed replies” in "
        ".github/docs/server.md.",
    )
