"""Which owner is told how many tokens of a prompt a model server had cached."""

from __future__ import annotations

from chat.llm.remote.server_use import ServerUse
from chat.llm.types import GenerationOptions, Turn

from .fake_server import MODELS, only_when_streamed, run_fake_server

USAGE = {"prompt_tokens": 90, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 80}}


def answer_with_usage(body):
    return iter(
        [{"model": "m", "choices": [{"delta": {"content": "Yes."}}]}, {"choices": [], "usage": USAGE}]
    )


def ask(provider, owner: str) -> int:
    options = GenerationOptions.for_reply(f"chat of {owner}", max_tokens=2, owner=owner)
    stream = provider.stream([Turn("user", "Is it?")], options)
    assert list(stream)
    return stream.usage.cached_tokens


def ask_server(connected, models, use=None, **paths):
    """Return the cached tokens that three calls of two owners were told, and their requests."""
    endpoint = only_when_streamed(answer_with_usage)
    with run_fake_server(v1__models=models, v1__chat__completions=endpoint, **paths) as server:
        provider = connected(server, use=use)
        told = [ask(provider, owner) for owner in ("ann", "bob", "ann")]
        return told, [body for body in server.bodies("/v1/chat/completions") if body.get("stream")]


def test_a_server_that_shares_its_cache_tells_several_owners_no_cached_tokens(connected):
    assert ask_server(connected, MODELS, use=ServerUse(several_owners=True))[0] == [0, 0, 0]


def test_one_owner_is_told_the_cached_tokens_of_any_server(connected):
    assert ask_server(connected, MODELS)[0] == [80, 80, 80]


def test_vllm_gets_a_salt_for_each_owner_and_its_cached_tokens_are_told(connected):
    models = {"data": [{"id": "m", "max_model_len": 4096, "owned_by": "vllm"}]}
    told, bodies = ask_server(
        connected, models, use=ServerUse(several_owners=True), version={"version": "0.11.2"}
    )
    salts = [body["cache_salt"] for body in bodies]
    assert told == [80, 80, 80]
    assert salts[0] == salts[2] != salts[1]
    assert "ann" not in salts[0]
