"""Which model `start` prepares for: one of another program on this machine, or the product's own."""

import shlex
import sys
from collections.abc import Mapping, Sequence

from memoryapp.base import local_servers, provider
from memoryapp.base.env import BadValue, envbool
from memoryapp.base.local_servers import FoundServer
from memoryapp.bootstrap import environment
from memoryapp.bootstrap.console import say
from memoryapp.bootstrap.errors import BootstrapError

LEAVES = "leaves this machine"


def check_use(use: str, env: Mapping[str, str]) -> str:
    """Return `PROGRAM:MODEL` for the value of --use, after a look at the program.

    Raises BootstrapError where it does not answer, has no such model, or may not be chosen here.
    """
    if env.get("MODE", "local") == "server":
        raise BootstrapError(
            "--use is for the local mode. In server mode set PROVIDER_URL, or choose in the settings."
        )
    if env.get("PROVIDER_URL", "").strip():
        raise BootstrapError("PROVIDER_URL sets the model's server already. Unset it, or leave --use out.")
    try:
        program, wanted = local_servers.parse_use(use)
        found = local_servers.look_at(program, program.root)
        model = local_servers.choose_model(found, program, wanted)
    except BadValue as error:
        raise BootstrapError(str(error)) from error
    return f"{program.name}:{model.name}"


def offer_found(port: int, env: Mapping[str, str]) -> str:
    """Look for model servers on this machine and ask whether to use one; return `PROGRAM:MODEL` or "".

    Looks only before the product's own engine was installed for the first time and where no model is chosen.
    Without a terminal to ask on, it prints what --use would do. Looks for a second at most; `port` is that of
    this program. Raises BadValue for a wrong FIND_MODEL_SERVERS.
    """
    is_chosen = any(env.get(name, "").strip() for name in ("MODEL", "MODEL_PATH")) or provider.is_remote(env)
    has_engine = (environment.STAMPS / "engine").exists()
    if is_chosen or has_engine or env.get("MODE", "local") == "server":
        return ""
    if not envbool("FIND_MODEL_SERVERS", True):
        return ""
    found = local_servers.find_servers(own_port=port)
    uses = list_uses(found)
    for server in found:
        if server.needs_key:
            say(f"{server.program.title} runs here. It asks for a key: give it in Settings → Model.")
    if not uses:
        return ""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        say("Models of other programs on this machine. To use one, start with one of:")
        for use, note in uses:
            say(f"  python3 manage.py start --use {shlex.quote(use)}{note}")
        return ""
    return _ask(uses)


def list_uses(found: Sequence[FoundServer]) -> list[tuple[str, str]]:
    """Return the values of --use for all found models, each with a note about it."""
    return [
        (f"{server.program.name}:{model.name}", f"  ({LEAVES})" if model.leaves else "")
        for server in found
        for model in server.models
    ]


def _ask(uses: Sequence[tuple[str, str]]) -> str:
    say("There are models of other programs on this machine:")
    for number, (use, note) in enumerate(uses, 1):
        say(f"  {number}  {use}{note}")
    say("Another one can be chosen later in Settings → Model.")
    while True:
        try:
            answer = input("Its number, or Enter for memoryapp's own model, which is downloaded: ").strip()
        except EOFError:
            return ""
        if not answer:
            return ""
        if answer.isascii() and answer.isdigit() and 0 < int(answer) <= len(uses):
            return uses[int(answer) - 1][0]
        say(f"A number from 1 to {len(uses)}, or Enter.")
