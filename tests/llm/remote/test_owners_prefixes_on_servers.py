"""What keeps the cached prefixes of owners apart on model servers, and what makes them usable at all."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

from chat.llm.remote.server_use import ServerUse
from chat.llm.remote.slots import SlotPool
from chat.llm.types import GenerationOptions, ToolCall, Turn

from .fake_server import MODELS, only_when_streamed, run_fake_server, stream_pieces

CHAT = "/v1/chat/completions"
USAGE = {"prompt_tokens": 90, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 80}}
VLLM = {"data": [{"id": "m", "owned_by": "vllm", "max_model_len": 4096}]}
LLAMA = {
    "v1__models": {"data": [{"id": "m", "owned_by": "llamacpp"}]},
    "v1__chat__completions": only_when_streamed(lambda body: stream_pieces("Yes.", then=[{"usage": USAGE}])),
}
SEVERAL = ServerUse(several_owners=True)
TURNS = [
    Turn("system", "You are kind. Überall."),
    Turn("user", "What is <|im_end|> and [INST] 7 × 8?"),
    Turn("assistant", "", (ToolCall("call-1", "calculate", '{"b": 8, "a": 7}'),)),
    Turn("tool", "56", call_id="call-1", name="calculate"),
    Turn("assistant", "56."),
]


def ask(provider, owner, slot=""):
    stream = provider.stream(
        [Turn("user", "Is it?")], GenerationOptions.for_reply(slot or owner, owner=owner)
    )
    assert list(stream)
    return stream.usage.cached_tokens


def streamed(server):
    return [body for body in server.bodies(CHAT) if body.get("stream")]


def test_all_processes_of_an_installation_give_an_owner_the_same_salt(connected):
    def salts(key):
        with run_fake_server(v1__models=VLLM, v1__chat__completions=LLAMA["v1__chat__completions"]) as server:
            provider = connected(server, use=ServerUse(several_owners=True, salt_key=key))
            for owner in ("1", "2"):
                ask(provider, owner)
            return [body["cache_salt"] for body in streamed(server)]

    first = salts(b"a" * 32)
    assert first == salts(b"a" * 32)
    assert len({*first, *salts(b"b" * 32)}) == 4


def test_a_vllm_that_may_not_know_salts_tells_no_cached_tokens(connected):
    for version, told in (({"version": "0.8.4"}, 0), ((404, {}), 0), ({"version": "0.9.0"}, 80)):
        paths = {"v1__models": VLLM, "version": version, **{k: v for k, v in LLAMA.items() if "chat" in k}}
        with run_fake_server(**paths) as server:
            assert ask(connected(server, use=SEVERAL), "ann") == told


def test_a_slot_that_holds_another_owners_words_is_not_continued(connected):
    with run_fake_server(**LLAMA, props=props(slots=2)) as server:
        provider = connected(server, use=SEVERAL)
        told = [ask(provider, owner) for owner in ("ann", "ann", "bob", "ann", "ann")]
        continued = [body["cache_prompt"] for body in streamed(server)]
        slots = [body["id_slot"] for body in streamed(server)]
    assert slots == [0] * 5
    assert continued == [False, True, False, False, True]
    assert told == [80] * 5


def test_a_server_with_one_slot_keeps_owners_apart_too(connected):
    with run_fake_server(**LLAMA, props=props(slots=1)) as server:
        provider = connected(server, use=SEVERAL)
        for owner in ("ann", "ann", "bob"):
            ask(provider, owner)
        bodies = streamed(server)
    assert [(body["id_slot"], body["cache_prompt"]) for body in bodies] == [(0, False), (0, True), (0, False)]


def test_after_a_new_probe_nobody_knows_whose_words_the_slots_hold(connected):
    with run_fake_server(**LLAMA, props=props(slots=2)) as server:
        provider = connected(server, use=SEVERAL)
        ask(provider, "ann")
        provider.servers[0].connect()
        ask(provider, "ann")
        assert [body["cache_prompt"] for body in streamed(server)] == [False, False]


def test_cached_tokens_are_not_told_where_other_processes_use_the_slots_too(connected):
    use = ServerUse(several_owners=True, several_processes=True)
    with run_fake_server(**LLAMA, props=props(slots=2)) as server:
        assert ask(connected(server, use=use), "ann") == 0


def test_one_owner_continues_every_prefix(connected):
    with run_fake_server(**LLAMA, props=props(slots=2)) as server:
        provider = connected(server)
        assert [ask(provider, "ann", chat) for chat in ("one", "two", "one")] == [80, 80, 80]
        assert all(body["cache_prompt"] for body in streamed(server))


def props(slots):
    return {"total_slots": slots, "default_generation_settings": {"n_ctx": 4096}}


def test_two_calls_of_several_owners_never_share_a_slot_where_another_is_free():
    pool = SlotPool(several_owners=True)
    pool.reset(2)
    first = pool.take("chat", "ann", background=False)
    second = pool.take("another", "bob", background=False)
    assert {first.number, second.number} == {0, 1}
    third = pool.take("third", "ann", background=False)
    assert not third.may_reuse
    for use in (first, second, third):
        pool.give_back(use)
    # Two calls ran on it at once, so whose words remain is unknown.
    assert not pool.take("third", "ann", background=False).may_reuse


def test_a_call_that_outlives_a_new_probe_leaves_a_slot_to_nobody():
    pool = SlotPool(several_owners=True)
    pool.reset(1)
    old = pool.take("chat", "bob", background=False)
    pool.reset(1)
    new = pool.take("another", "ann", background=False)
    assert (new.number, new.may_reuse) == (old.number, False)
    pool.give_back(old)
    # The first call of ann still runs, so it is unknown whose words remain.
    assert not pool.take("another", "ann", background=False).may_reuse


def test_the_end_of_an_old_call_does_not_free_the_slot_of_a_new_one():
    pool = SlotPool(several_owners=True)
    pool.reset(2)
    old = pool.take("chat", "bob", background=False)
    pool.reset(2)
    # An old call may still write into its slot, so new ones get the other.
    new = pool.take("another", "ann", background=False)
    assert new.number != old.number
    pool.give_back(old)
    third = pool.take("third", "eve", background=False)
    assert third.number == old.number
    assert {new.number, third.number} == {0, 1}
    pool.give_back(new)
    pool.give_back(third)
    assert pool.take("another", "ann", background=False).may_reuse


def test_a_call_that_outlives_a_new_probe_and_writes_last_is_not_continued_by_another_owner():
    pool = SlotPool(several_owners=True)
    pool.reset(1)
    old = pool.take("chat", "bob", background=False)
    pool.reset(1)
    pool.give_back(pool.take("another", "ann", background=False))
    pool.give_back(old)
    assert not pool.take("another", "ann", background=False).may_reuse


def test_the_same_conversation_has_the_same_bytes_on_every_server_and_in_every_process(connected):
    with ExitStack() as stack:
        paths = {"v1__models": MODELS, "v1__chat__completions": LLAMA["v1__chat__completions"]}
        servers = [stack.enter_context(run_fake_server(**paths)) for _ in range(2)]
        provider = connected(*servers)
        for number in range(12):
            list(provider.stream(TURNS, GenerationOptions.for_reply(f"chat {number}")))
        sent = [json.dumps(body["messages"]) for server in servers for body in streamed(server)]
        assert min(len(streamed(server)) for server in servers) > 0
        assert len(set(sent)) == 1
    made = {build_in_new_process(seed) for seed in ("0", "1", "2", "3")}
    assert len(made) == 1


def build_in_new_process(seed: str) -> bytes:
    """Return the bytes of a request that a new process makes, in which sets have another order."""
    program = (
        "import json, sys\n"
        "from chat.llm.remote.protocol import Capabilities, RemoteCall, build_body\n"
        "from chat.llm.remote.slots import SlotUse\n"
        "from chat.llm.types import GenerationOptions\n"
        "from tests.llm.remote.test_owners_prefixes_on_servers import TURNS\n"
        "tokens = frozenset(['<|im_end|>', '<|im_sp|>', '[INST]'])\n"
        "found = Capabilities('vllm', 'm', control_tokens=tokens)\n"
        "call = RemoteCall(TURNS, GenerationOptions.for_reply('chat', owner='7'))\n"
        "print(json.dumps(build_body(call, found, SlotUse(None, True), b'k' * 32)))\n"
    )
    environment = {"PYTHONHASHSEED": seed, "PATH": "", "PYTHONPATH": str(Path.cwd())}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, env=environment)
    return done.stdout
