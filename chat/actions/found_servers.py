"""Model servers of other programs on this machine: what is found, and the choice of one of their models."""

from __future__ import annotations

from collections.abc import Sequence

from django.conf import settings

from chat.errors import Refused
from chat.models import User
from memoryapp.base import local_servers
from memoryapp.base.env import BadValue
from memoryapp.base.local_servers import FoundServer

from .owners import local_owner
from .provider import choose_found_server, is_choice_allowed, store_found_server


def find_for(owner: User, own_port: int) -> Sequence[FoundServer]:
    """Return the servers of other programs that the owner may choose; none in server mode.

    `own_port` is this program's port, which is not asked. Blocks for a second at most.
    """
    if not (settings.FIND_MODEL_SERVERS and settings.MODE == "local" and is_choice_allowed(owner)):
        return []
    return local_servers.find_servers(own_port)


def choose(owner: User, program: str, model: str) -> None:
    """Use a model of a program on this machine from now on, also after a restart.

    Raises Refused where the program does not answer or no longer has the model.
    """
    known = local_servers.find_program(program)
    if known is None or settings.MODE != "local":
        raise Refused("provider-not-found", program=program)
    found = local_servers.look_at(known, known.root)
    if found is None:
        raise Refused("provider-not-found", program=known.title)
    if model not in [one.name for one in found.models]:
        raise Refused("provider-model-gone", program=known.title, model=model)
    choose_found_server(owner, known, model)


def choose_by_text(text: str) -> None:
    """Store the choice of `--use PROGRAM[:MODEL]` for the local owner before the model is loaded.

    Raises BadValue with a sentence.
    """
    if settings.MODE != "local":
        raise BadValue("--use is for the local mode.")
    program, wanted = local_servers.parse_use(text)
    found = local_servers.look_at(program, program.root)
    model = local_servers.choose_model(found, program, wanted)
    try:
        store_found_server(local_owner(), program, model.name)
    except Refused as problem:
        raise BadValue(str(problem)) from problem
