"""Messages reach the model in their own roles; a tool call and its result are always kept together."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chat.actions import message_edits
from chat.actions.owners import default_app
from chat.context.prompt import build_prompt
from chat.context.strategies import split_into_exchanges
from chat.llm.roles import RoleSupport, adapt_turns
from chat.llm.types import ToolCall
from chat.models import Conversation, Message

pytestmark = pytest.mark.django_db

STRATEGIES = ["simple", "summarization", "hybrid", "topics"]
LONG = "x" * 400


def make_call(id_: str = "call_1", **fields):
    function = {"name": "weather", "arguments": '{"city": "Oslo"}'}
    calls = [{"id": id_, "type": "function", "function": function}]
    return {"role": "assistant", "content": "", "tool_calls": calls, **fields}


def make_result(id_: str = "call_1", content: str = "8 degrees"):
    return {"role": "tool", "content": content, "tool_call_id": id_, "name": "weather"}


def said(role: str, content: str):
    return {"role": role, "content": content}


def make_talk(count: int, text: str = LONG):
    """Return exchanges of two messages each."""
    return [said(role, f"{n} {text}") for n in range(count) for role in ("user", "assistant")]


def compacted(turn, conversation):
    """Go on with the conversation until a prompt is compacted again, and return that prompt."""
    prompts = (turn(conversation, LONG, LONG) for _ in range(20))
    return next(prompt for prompt in prompts if prompt.stage)


@pytest.fixture
def begin(owner):
    """Return a function that creates a conversation with these messages."""

    def begin(*messages, **fields):
        conversation = Conversation.objects.create(owner=owner, app=default_app(owner), **fields)
        Message.objects.bulk_create(
            Message(conversation=conversation, seq=seq, **message)
            for seq, message in enumerate(messages, start=1)
        )
        return conversation

    return begin


@pytest.fixture
def prompt_of(add_user_message, provider):
    """Return a function that builds the prompt of a new message."""

    def prompt_of(conversation, text="And now?", window=8192):
        provider.context_window = window
        conversation.refresh_from_db()
        return build_prompt(conversation, add_user_message(conversation, text), provider)

    return prompt_of


class TestRoles:
    """Each message is a turn of its own role."""

    def test_a_call_without_text_and_its_result_are_turns_of_their_roles(self, begin, prompt_of):
        talk = begin(said("user", "How warm?"), make_call(), make_result(), said("assistant", "8."))
        prompt = prompt_of(talk)
        assert [t.role for t in prompt.turns] == ["system", "user", "assistant", "tool", "assistant", "user"]
        assert prompt.turns[2].calls == (ToolCall("call_1", "weather", '{"city": "Oslo"}'),)
        assert (prompt.turns[3].content, prompt.turns[3].call_id) == ("8 degrees", "call_1")
        assert prompt.cut_messages == 0

    def test_a_system_message_within_the_chat_is_a_system_turn(self, begin, prompt_of):
        talk = begin(said("user", "Hi"), said("assistant", "Hello."), said("system", "Speak French."))
        assert [(t.role, t.content) for t in prompt_of(talk).turns[-2:]] == [
            ("system", "Speak French."),
            ("user", "And now?"),
        ]

    def test_the_empty_result_of_a_tool_stays_and_a_failed_reply_does_not(self, begin, prompt_of):
        talk = begin(
            said("user", "Save it"),
            make_call(),
            make_result(content=""),
            said("assistant", "Saved."),
            said("user", "Thanks"),
            {**said("assistant", ""), "state": "failed"},
        )
        prompt = prompt_of(talk)
        assert [t.role for t in prompt.turns[1:]] == [
            "user",
            "assistant",
            "tool",
            "assistant",
            "user",
            "user",
        ]
        assert prompt.cut_messages == 0

    def test_damaged_calls_do_not_break_the_prompt(self, begin, prompt_of):
        talk = begin(
            said("user", "Hi"),
            *(
                {**said("assistant", "Hm."), "tool_calls": c}
                for c in ("{", {"id": 1}, [1], [{"function": 2}])
            ),
        )
        assert len(prompt_of(talk).turns) == 7

    def test_the_arguments_of_calls_are_counted(self, begin, prompt_of, provider):
        call = make_call()
        call["tool_calls"][0]["function"]["arguments"] = '{"text": "%s"}' % ("word " * 2000)
        assert prompt_of(begin(said("user", "Hi"), call, make_result())).tokens > 2000


class TestExchanges:
    """A tool call and its results are in one exchange."""

    def test_a_result_after_the_next_message_joins_the_exchange_of_its_call(self):
        rows = [
            Message(seq=seq, **m)
            for seq, m in enumerate(
                [
                    said("user", "a"),
                    make_call(),
                    said("user", "b"),
                    make_result(),
                    said("assistant", "c"),
                    said("user", "d"),
                ]
            )
        ]
        assert [[m.seq for m in group] for group in split_into_exchanges(rows)] == [[0, 1, 2, 3, 4], [5]]


class TestTrimming:
    """Compaction keeps or leaves out a tool call together with its results."""

    def test_a_system_message_stays_under_hybrid_and_the_first_exchange_too(self, begin, prompt_of):
        talk = begin(
            said("system", "Leading."),
            *make_talk(1, "opening"),
            *make_talk(4),
            said("system", "Speak French."),
            *make_talk(8),
        )
        prompt = prompt_of(talk, window=2048)
        contents = [t.content for t in prompt.turns]
        assert contents[1:4] == ["Leading.", "0 opening", "0 opening"]
        assert contents[4] == "Speak French."
        assert prompt.turns[4].role == "system"
        assert prompt.cut_messages

    def test_a_system_message_stays_through_many_compactions(self, begin, turn, provider):
        provider.context_window = 2048
        talk = begin(*make_talk(1, "opening"), said("system", "Speak French."))
        for n in range(20):
            prompt = turn(talk, f"{n} {LONG}", LONG)
        assert prompt.shape.trimmed_through > 3
        assert "Speak French." in [t.content for t in prompt.turns]

    def test_a_system_message_of_before_comes_back_when_the_strategy_becomes_hybrid(
        self, begin, turn, provider
    ):
        provider.context_window = 2048
        talk = begin(*make_talk(1), said("system", "Speak French."), *make_talk(8), strategy="simple")
        assert "Speak French." not in [t.content for t in turn(talk, "Hi").turns]
        Conversation.objects.update(strategy="hybrid")
        assert "Speak French." in [t.content for t in compacted(turn, talk).turns]

    def test_many_system_messages_do_not_push_the_conversation_out(self, begin, prompt_of):
        talk = begin(*(said("system", f"It is {n}. " + "y" * 80) for n in range(200)))
        Message.objects.bulk_create(
            Message(conversation=talk, seq=201 + n, **m) for n, m in enumerate(make_talk(4, "z" * 60))
        )
        prompt = prompt_of(talk, window=2048)
        assert [t.role for t in prompt.turns][-9:] == ["user", "assistant"] * 4 + ["user"]
        assert [t.content[:10] for t in prompt.turns if t.role == "system"][-1] == "It is 199."

    def test_one_very_long_system_message_is_shortened(self, begin, prompt_of):
        talk = begin(*make_talk(1), said("system", "begin " + "y" * 20_000 + " end"), *make_talk(8))
        prompt = prompt_of(talk, window=2048)
        [kept] = [t.content for t in prompt.turns[1:] if t.role == "system"]
        assert kept.startswith("begin ")
        assert kept.endswith(" end")
        assert prompt.tokens <= 2048 // 2

    def test_a_flagged_call_brings_its_result_back(self, begin, turn, provider):
        provider.context_window = 4096
        talk = begin(*make_talk(1), said("user", "How warm?"), make_call(), make_result(), *make_talk(16))
        before = turn(talk, "Hi")
        assert not any(t.calls for t in before.turns)
        message_edits.flag_message(Message.objects.get(conversation=talk, seq=4), True)
        after = compacted(turn, talk)
        assert [t.role for t in after.turns if t.calls or t.role == "tool"] == ["assistant", "tool"]

    def test_a_topic_that_returns_brings_whole_calls(self, begin, turn, provider):
        talk = begin(
            said("user", "How warm?"),
            make_call(),
            said("user", "Something else"),
            make_result(),
            *make_talk(40),
            strategy="topics",
        )
        first, second = (talk.topics.create(title=title) for title in ("one", "two"))
        Message.objects.filter(seq__lte=2).update(topic=first)
        Message.objects.filter(seq__gt=2).update(topic=second)
        assert turn(talk, "Hi").stage
        asked = Message.objects.create(
            conversation=talk, seq=Message.objects.count() + 1, role="user", content="y" * 11_000, topic=first
        )
        talk.refresh_from_db()
        prompt = build_prompt(talk, asked, provider)
        assert [t.role for t in prompt.turns if t.calls or t.role == "tool"] == ["assistant", "tool"]


pieces = st.one_of(
    st.builds(lambda n: make_talk(1, "x" * n), st.integers(1, 900)),
    st.builds(
        lambda n, m: [
            said("user", "Look"),
            make_call(),
            make_result(content="r" * n),
            said("assistant", "a" * m),
        ],
        st.integers(0, 4000),
        st.integers(1, 300),
    ),
    st.builds(lambda n: [said("system", "s" * n)], st.integers(1, 2500)),
    st.just([said("user", "Look"), make_call(), said("user", "Are you there?"), make_result()]),
    st.just([said("user", "Look"), make_call(), said("system", "Be quick."), make_result()]),
    st.just([make_call()]),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    strategy=st.sampled_from(STRATEGIES),
    window=st.sampled_from([1024, 2048]),
    groups=st.lists(pieces, max_size=14),
)
def test_no_prompt_has_a_result_without_its_call_or_is_too_long(
    begin, turn, provider, strategy, window, groups
):
    provider.context_window = window
    messages = [dict(m) for group in groups for m in group]
    open_call = ""
    for n, message in enumerate(messages):  # each call has an id of its own
        if message.get("tool_calls"):
            open_call = f"call_{n}"
            message |= make_call(open_call)
        elif message["role"] == "tool":
            message["tool_call_id"] = open_call
    wanted = {m["tool_call_id"] for m in messages if m["role"] == "tool"}
    conversation = begin(*messages, strategy=strategy)
    before = None
    for text in ("Hi", "And?", "z" * 2000, "So?"):
        prompt = turn(conversation, text)
        called = {call.id for t in prompt.turns for call in t.calls}
        assert {t.call_id for t in prompt.turns if t.role == "tool"} == called & wanted
        assert prompt.tokens + prompt.max_tokens <= window
        if before is not None and not prompt.stage:
            assert prompt.turns[: len(before.turns)] == before.turns
            plain = adapt_turns(prompt.turns, RoleSupport())
            begun = adapt_turns(before.turns, RoleSupport())
            assert plain[: len(begun)] == begun
        before = prompt
