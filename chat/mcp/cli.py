"""`manage.py mcp`: an assistant starts this command and exchanges MCP messages over standard input and
output.

Standard output belongs to the protocol; errors are written to standard error.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from urllib.parse import urlsplit

from memoryapp.base import env

from .access import Access

_HOW_TO = (
    "There is no token. Make one under “Programs” in memoryapp's settings, and put it into the environment "
    "of this command as MEMORYAPP_TOKEN."
)


def main(arguments: Sequence[str]) -> int:
    """Serve until standard input is closed.

    Returns the exit code; 1 where the arguments or the environment are wrong.
    """
    url = _parser().parse_args(arguments).url or env.envstr("MEMORYAPP_URL")
    # Read from the environment and not from an argument: other users can see arguments in the list of
    # processes.
    token = env.envstr("MEMORYAPP_TOKEN").strip()
    if url and not _is_address(url):
        return _fail(f"{url} is no address; it looks like http://127.0.0.1:8000")
    if not token and (url or env.envstr("MODE", "local") != "local"):
        return _fail(_HOW_TO)
    if not token.isascii() or not token.isprintable():
        return _fail("MEMORYAPP_TOKEN holds characters that no token has.")
    # Imported late: these two take most of the start-up time, and --help and errors do not need them.
    try:
        import anyio

        from .server import serve
    except ImportError:
        return _fail("Nothing is installed yet. Run this first: python3 manage.py start")

    # Python's handler for Ctrl-C would wait for the thread that reads the next line; the default handler ends
    # the process.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        anyio.run(serve, Access(url, token))
    except* BrokenPipeError:
        # The assistant closed the pipe.
        pass
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="manage.py mcp",
        description="Give another assistant the memories of the running memoryapp, as tools (MCP, stdio).",
        epilog=f"Environment: MEMORYAPP_TOKEN, MEMORYAPP_URL, DATA_DIR (here {env.data_path()}).",
    )
    parser.add_argument("--url", default="", help="where memoryapp runs, if not on this machine")
    return parser


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _fail(sentence: str) -> int:
    print(sentence, file=sys.stderr)
    return 1
