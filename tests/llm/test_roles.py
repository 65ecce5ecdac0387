"""Each role reaches the model in the form of its chat template, or as text with a label in a user turn."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.errors import ProviderError
from chat.llm.roles import RoleSupport, adapt_turns, label_turn, probe_roles_by_size, uses_optional_roles
from chat.llm.template import ChatTemplate
from chat.llm.types import ToolCall, Turn

from .test_template import CHATML, DROPS_SYSTEM, REFUSES_SYSTEM, Vocabulary, render

# As in Qwen's and Hermes' templates: every form is rendered.
WITH_TOOLS = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}"
    "{% for c in m.tool_calls or [] %}<call>{{ c.function.name }} {{ c.function.arguments | tojson }}"
    "{% endfor %}<|end|>{% endfor %}<|assistant|>"
)
# As in Llama's: one call in a message, and text beside it is left out.
ONE_CALL = (
    "{% for m in messages %}<|{{ m.role }}|>"
    "{% if m.tool_calls %}{% if m.tool_calls | length > 1 %}{{ raise_exception('one call') }}{% endif %}"
    "<call>{{ m.tool_calls[0].function.name }} {{ m.tool_calls[0].function.arguments | tojson }}"
    "{% else %}{{ m.content }}{% endif %}<|end|>{% endfor %}<|assistant|>"
)
# As in Mistral's: ids of nine letters, user and assistant alternate, no system message after the first one.
ALTERNATING = (
    "{% set ns = namespace(n=0) %}{% for m in messages %}"
    "{% if m.role == 'system' and not loop.first %}{{ raise_exception('late system') }}{% endif %}"
    "{% if m.role in ('user', 'assistant') and not m.tool_calls %}"
    "{% if (m.role == 'user') != (ns.n % 2 == 0) %}{{ raise_exception('alternate') }}{% endif %}"
    "{% set ns.n = ns.n + 1 %}{% endif %}<|{{ m.role }}|>{{ m.content }}"
    "{% for c in m.tool_calls or [] %}{% if c.id | length != 9 %}{{ raise_exception('id') }}{% endif %}"
    "<call>{{ c.id }} {{ c.function | tojson }}{% endfor %}"
    "{% if m.role == 'tool' %}<id>{{ m.tool_call_id }}{% endif %}<|end|>{% endfor %}<|assistant|>"
)
# As in some versions of DeepSeek's: arguments are concatenated with text.
TEXT_ARGUMENTS = WITH_TOOLS.replace("{{ c.function.arguments | tojson }}", "{{ '' + c.function.arguments }}")
# Moves every system message to the beginning, which would change the beginning of the prompt.
SYSTEM_FIRST = (
    "{% for m in messages if m.role == 'system' %}<|system|>{{ m.content }}<|end|>{% endfor %}" + DROPS_SYSTEM
)
TEMPLATES = {
    "chatml": CHATML,
    "no system": REFUSES_SYSTEM,
    "tools": WITH_TOOLS,
    "one call": ONE_CALL,
    "alternating": ALTERNATING,
    "text arguments": TEXT_ARGUMENTS,
}

OSLO = '{"city": "Oslo"}'


def call(name: str = "weather", arguments: str = OSLO, text: str = "", id_: str = "call_1") -> Turn:
    return Turn("assistant", text, (ToolCall(id_, name, arguments),))


def result(text: str = "8 degrees", id_: str = "call_1", name: str = "weather") -> Turn:
    return Turn("tool", text, call_id=id_, name=name)


ASKED = [Turn("system", "Be kind."), Turn("user", "How warm is it?")]
THANKS = [Turn("assistant", "8 degrees."), Turn("user", "Thanks")]


def roles_of(template: str) -> RoleSupport:
    return ChatTemplate(Vocabulary(template)).roles


class TestProbing:
    """What a template supports is found out by rendering."""

    def test_a_template_with_tools_supports_every_form(self):
        assert roles_of(WITH_TOOLS) == RoleSupport(*[True] * 7)

    def test_a_template_that_leaves_calls_out_does_not_support_them(self):
        assert roles_of(CHATML) == RoleSupport(system=True, late_system=True)

    def test_text_beside_a_call_and_several_calls_are_probed_apart(self):
        found = roles_of(ONE_CALL)
        assert (found.tools, found.text_with_call, found.parallel_calls) == (True, False, False)

    def test_a_template_that_wants_alternating_roles_needs_a_reply_after_a_result(self):
        found = roles_of(ALTERNATING)
        assert (found.tools, found.unanswered_result, found.late_system) == (True, False, False)

    def test_arguments_are_sent_as_text_where_the_template_needs_text(self):
        found = roles_of(TEXT_ARGUMENTS)
        assert (found.tools, found.object_arguments) == (True, False)
        assert f"<call>weather {OSLO}" in render(TEXT_ARGUMENTS, [*ASKED, call(), result(), *THANKS])

    def test_a_template_that_moves_late_system_messages_does_not_support_them(self):
        assert not roles_of(SYSTEM_FIRST).late_system

    def test_a_template_that_raises_any_error_can_be_probed(self):
        assert roles_of(CHATML + "{% if messages | length > 2 %}{{ none + 1 }}{% endif %}") == RoleSupport()

    def test_a_server_that_shows_no_prompt_is_probed_by_its_token_counts(self):
        def count(messages):
            return len(json.dumps(messages).split())

        def without_tools(messages):
            return count([m for m in messages if m["role"] != "tool" and "tool_calls" not in m])

        def refusing(messages):
            raise ProviderError("server-refused", what="400")

        assert probe_roles_by_size(count, system=True) == RoleSupport(*[True] * 6)
        assert probe_roles_by_size(without_tools, system=True) == RoleSupport(late_system=True)
        for nothing in (refusing, lambda messages: 0):
            assert probe_roles_by_size(nothing, system=False) == RoleSupport(system=False)


class TestToolCalls:
    """A call and its result go in the template's form, else as text with labels in a user turn."""

    def test_a_call_and_its_result_are_rendered_by_the_template(self):
        prompt = render(WITH_TOOLS, [*ASKED, call(), result(), *THANKS])
        assert f"<|assistant|><call>weather {OSLO}<|end|><|tool|>8 degrees<|end|>" in prompt

    def test_without_the_form_both_are_text_in_one_user_turn(self):
        prompt = render(CHATML, [*ASKED, call(text="I will look."), result(), *THANKS])
        assert prompt == (
            "<|system|>Be kind.<|end|><|user|>How warm is it?<|end|><|assistant|>I will look.<|end|>"
            f"<|user|>[Tool call: weather {OSLO}]\n\n[Result of weather]\n8 degrees<|end|>"
            "<|assistant|>8 degrees.<|end|><|user|>Thanks<|end|><|assistant|>"
        )

    def test_text_beside_a_call_is_never_lost(self):
        assert "I will look." in render(ONE_CALL, [*ASKED, call(text="I will look."), result(), *THANKS])
        assert "I will look.<call>" in render(
            WITH_TOOLS, [*ASKED, call(text="I will look."), result(), *THANKS]
        )

    def test_several_calls_in_one_message_are_text_where_the_template_takes_one(self):
        both = Turn("assistant", "", (ToolCall("a", "weather", OSLO), ToolCall("b", "time", "{}")))
        turns = [*ASKED, both, result("noon", "b", ""), result("8 degrees", "a"), *THANKS]
        prompt = render(ONE_CALL, turns)
        assert f"[Tool call: weather {OSLO}]\n\n[Tool call: time {{}}]\n\n[Result of time]\nnoon" in prompt
        assert prompt.count("<call>") == 0
        assert render(WITH_TOOLS, turns).count("<call>") == 2

    def test_ids_have_nine_letters_and_a_result_has_the_id_of_its_call(self):
        prompt = render(ALTERNATING, [*ASKED, call(id_="call_" + "x" * 60), result(id_=""), *THANKS])
        [made] = [part.split()[0] for part in prompt.split("<call>")[1:]]
        assert len(made) == 9
        assert f"<id>{made}<|end|>" in prompt

    @pytest.mark.parametrize(
        "turns",
        [
            [call(arguments="search('Oslo')"), result()],
            [call(arguments='["Oslo"]'), result()],
            [call(arguments="[" * 100_000), result()],
            [call(name=""), result()],
            [call()],
            [result()],
            [call(), result(), result("9 degrees")],
            [
                Turn("assistant", "", (ToolCall("", "weather", OSLO), ToolCall("", "time", ""))),
                result(id_=""),
                result(id_=""),
            ],
        ],
        ids=["text", "list", "deep", "unnamed", "no result", "no call", "two results", "no ids"],
    )
    def test_what_a_template_could_not_render_faithfully_is_text(self, turns):
        prompt = render(WITH_TOOLS, [*ASKED, *turns, *THANKS])
        assert "<call>" not in prompt
        assert "<|tool|>" not in prompt
        for turn in turns:
            assert label_turn(turn) in prompt

    def test_a_call_after_a_reply_is_part_of_its_message(self):
        turns = [*ASKED, Turn("assistant", "One moment."), call(), result(), *THANKS]
        assert f"<|assistant|>One moment.<call>weather {OSLO}<|end|>" in render(WITH_TOOLS, turns)
        assert "<|assistant|>One moment.<|end|><|user|>[Tool call" in render(ONE_CALL, turns)

    def test_a_remembered_reply_that_calls_a_tool_keeps_its_tokens(self):
        template = ChatTemplate(Vocabulary(WITH_TOOLS))
        template.remember_reply("One moment.", [7, 8, 9])
        tokens = template.tokens([*ASKED, call(text="One moment."), result(), *THANKS])
        assert "<|assistant|>\x07\x08\x09<call>" in "".join(map(chr, tokens))

    @pytest.mark.parametrize("template", [WITH_TOOLS, CHATML])
    def test_control_tokens_in_calls_and_results_stay_text(self, template):
        def count_ends(text: str) -> int:
            turns = [*ASKED, call("weather", json.dumps({text: [text]}, ensure_ascii=False)), result(text)]
            return render(template, [*turns, *THANKS]).count("<|end|>")

        assert count_ends("<|end|>\ue0f00\ue0f0") == count_ends("x")


class TestSystemMessages:
    """A system message stays one at its place, else it is text with a label in a user turn."""

    LATE = (*ASKED, Turn("assistant", "8 degrees."), Turn("system", "Speak French."), Turn("user", "Merci"))

    def test_a_late_system_message_stays_one(self):
        assert "8 degrees.<|end|><|system|>Speak French.<|end|><|user|>Merci" in render(CHATML, [*self.LATE])

    @pytest.mark.parametrize("template", [REFUSES_SYSTEM, ALTERNATING, SYSTEM_FIRST])
    def test_where_the_template_has_none_it_is_text_before_the_message(self, template):
        assert "<|user|>[System message]\nSpeak French.\n\nMerci<|end|>" in render(template, [*self.LATE])

    @pytest.mark.parametrize("template", [CHATML, ALTERNATING])
    def test_a_system_message_before_everything_joins_the_first_one(self, template):
        turns = [ASKED[0], Turn("system", "Speak French."), ASKED[1]]
        assert render(template, turns).startswith("<|system|>Be kind.\n\nSpeak French.<|end|><|user|>")

    def test_without_a_system_role_a_greeting_follows_the_instructions(self):
        turns = [ASKED[0], Turn("assistant", "Hello!"), ASKED[1]]
        assert render(REFUSES_SYSTEM, turns).startswith("<|user|>Be kind.<|end|><|assistant|>Hello!<|end|>")


def test_a_template_that_refuses_every_prompt_is_reported_when_it_is_loaded():
    with pytest.raises(ProviderError, match="refused this conversation"):
        roles_of("{{ none + 1 }}")


def test_an_order_that_the_template_refuses_is_sent_as_text():
    refuses = WITH_TOOLS + "{% if messages | length > 9 %}{{ raise_exception('too many') }}{% endif %}"
    turns = [*ASKED, *[call(), result()] * 5, *THANKS]
    prompt = render(refuses, turns)
    assert prompt.count("[Result of weather]") == 5
    assert "<call>" not in prompt


def test_an_ordinary_conversation_uses_no_optional_role():
    assert not uses_optional_roles([*ASKED, *THANKS])
    assert uses_optional_roles([*ASKED, call(), result(), *THANKS])
    assert uses_optional_roles(TestSystemMessages.LATE)


pieces = st.one_of(
    st.just([Turn("user", "More?"), Turn("assistant", "Yes.")]),
    st.just([Turn("user", "And?")]),
    st.just([Turn("assistant", "Well.")]),
    st.just([Turn("system", "Speak French.")]),
    st.just([call(), result()]),
    st.just([call(text="I will look."), result(id_="call_7"), result()]),
    st.just([call()]),
    st.just([result()]),
)


@given(st.sampled_from(sorted(TEMPLATES)), st.lists(pieces, max_size=6), st.lists(pieces, max_size=4))
def test_a_prompt_keeps_its_beginning_when_the_conversation_goes_on(name, before, after):
    first = [*ASKED, *(turn for piece in before for turn in piece), Turn("user", "The question.")]
    more = [Turn("assistant", "The reply."), *(turn for piece in after for turn in piece)]
    support = roles_of(TEMPLATES[name])
    begun = adapt_turns(first, support)
    assert adapt_turns([*first, *more, Turn("user", "Next")], support)[: len(begun)] == begun
