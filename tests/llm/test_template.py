"""From turns to tokens: the chat template of the model, adapted to what templates do not support."""

from __future__ import annotations

import pytest

from chat.errors import ModelNotReady, TemplateMissing
from chat.llm.engine import Engine
from chat.llm.engine_request import EngineRequest
from chat.llm.state_cache import StateCache
from chat.llm.template import ChatTemplate
from chat.llm.types import GenerationOptions, Turn
from tests.waiting import wait_until

CHATML = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}<|assistant|>"
REFUSES_SYSTEM = (
    "{% if messages[0].role == 'system' %}{{ raise_exception('no system role') }}{% endif %}" + CHATML
)
DROPS_SYSTEM = (
    "{% for m in messages if m.role != 'system' %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
    "<|assistant|>"
)


# Like the template of Qwen3: with enable_thinking=false the prompt ends with an empty reasoning, and earlier
# replies have none.
SWITCHES = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>"
    "{% if enable_thinking is defined and enable_thinking is false %}<think>\n\n</think>\n\n{% endif %}"
    "{% endif %}"
)
# As those of models that always reason.
OPENS = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|><think>\n{% endif %}"
)


class Vocabulary:
    """A vocabulary in which every character is a token."""

    control_tokens = ("<|system|>", "<|user|>", "<|assistant|>", "<|end|>")

    def __init__(self, template: str | None) -> None:
        self._template = template

    def chat_template(self) -> str | None:
        return self._template

    def special_tokens(self) -> tuple[str, str]:
        return "<s>", "</s>"

    def tokenize(self, text: str, *, special: bool = True) -> list[int]:
        return [ord(c) for c in text]


def render(template: str, turns: list[Turn]) -> str:
    return "".join(map(chr, ChatTemplate(Vocabulary(template)).tokens(turns)))


ASK = [Turn("system", "Be kind."), Turn("user", "Hello")]


def test_a_model_without_a_template_is_refused():
    with pytest.raises(TemplateMissing, match="no chat template"):
        ChatTemplate(Vocabulary(None))


def test_a_template_with_a_system_role_gets_it():
    assert render(CHATML, ASK) == "<|system|>Be kind.<|end|><|user|>Hello<|end|><|assistant|>"


@pytest.mark.parametrize("template", [REFUSES_SYSTEM, DROPS_SYSTEM], ids=["refuses", "drops"])
def test_without_a_system_role_its_text_goes_to_the_first_user_turn(template):
    assert render(template, ASK) == "<|user|>Be kind.\n\nHello<|end|><|assistant|>"


def test_adjacent_turns_of_one_role_are_merged():
    turns = [Turn("user", "a"), Turn("user", "b"), Turn("assistant", "c"), Turn("user", "d")]
    assert render(CHATML, turns).count("<|user|>") == 2


def test_a_reply_is_returned_as_the_tokens_it_was_generated_with():
    template = ChatTemplate(Vocabulary(CHATML))
    template.remember_reply("Hi!", [7, 8, 9])
    tokens = template.tokens([*ASK, Turn("assistant", "Hi!"), Turn("user", "More")])
    text = "".join(map(chr, tokens))
    assert "<|assistant|>\x07\x08\x09<|end|><|user|>More" in text


def test_text_of_a_user_is_never_taken_for_a_remembered_reply():
    template = ChatTemplate(Vocabulary(CHATML))
    template.remember_reply("Hi!", [7, 8, 9])
    tokens = template.tokens([Turn("user", "Hi!\ue0f00\ue0f0")])
    assert "".join(map(chr, tokens)) == "<|user|>Hi!0<|end|><|assistant|>"


def test_only_the_newest_replies_are_remembered(monkeypatch):
    monkeypatch.setattr("chat.llm.template._MAX_REPLIES", 2)
    template = ChatTemplate(Vocabulary(CHATML))
    for i, text in enumerate(["first", "second", "third"]):
        template.remember_reply(text, [i])
    assert list(template._replies) == ["second", "third"]


def test_a_model_that_cannot_be_loaded_fails_waiting_requests():
    told: list[Exception] = []

    def build():
        raise TemplateMissing("verbatim", sentence="This model file has no chat template.")

    engine = Engine(build, background_cells=256, state_cache=StateCache(0), on_error=told.append)
    request = engine.submit(EngineRequest([1], GenerationOptions.for_reply("a", max_tokens=1)))
    engine.start()
    with pytest.raises(ModelNotReady, match="no chat template"):
        list(request)
    wait_until(lambda: told)
    with pytest.raises(ModelNotReady):
        engine.submit(EngineRequest([1], GenerationOptions.for_reply("a", max_tokens=1)))


class TestReasoning:
    """A prompt says whether the model may reason before the reply."""

    def prompt(self, template, *, reasoning, turns=ASK):
        made = ChatTemplate(Vocabulary(template))
        return "".join(map(chr, made.tokens(turns, reasoning=reasoning)))

    @pytest.mark.parametrize(
        ("template", "reasoning", "end", "opened"),
        [
            (CHATML, False, "<|assistant|>", ""),
            (CHATML, True, "<|assistant|>", ""),
            (SWITCHES, False, "<|assistant|><think>\n\n</think>\n\n", ""),
            (SWITCHES, True, "<|assistant|>", ""),
            (OPENS, False, "<|assistant|><think>\n</think>\n\n", ""),
            (OPENS, True, "<|assistant|><think>\n", "</think>"),
        ],
    )
    def test_it_ends_as_the_template_wants(self, template, reasoning, end, opened):
        assert self.prompt(template, reasoning=reasoning).endswith("Hello<|end|>" + end)
        assert ChatTemplate(Vocabulary(template)).opened_tag(reasoning=reasoning) == opened

    @pytest.mark.parametrize(("template", "can"), [(CHATML, False), (SWITCHES, True), (OPENS, True)])
    def test_the_template_tells_whether_there_is_a_choice(self, template, can):
        assert ChatTemplate(Vocabulary(template)).can_reason == can

    @pytest.mark.parametrize("template", [CHATML, SWITCHES, OPENS])
    def test_the_next_prompt_begins_with_what_was_read_and_written(self, template):
        made = ChatTemplate(Vocabulary(template))
        first, written = made.tokens(ASK), [ord(c) for c in "Hi!"]
        made.remember_reply("Hi!", written)
        following = made.tokens([*ASK, Turn("assistant", "Hi!"), Turn("user", "And?")])
        assert following[: len(first) + len(written)] == first + written

    def test_both_prompts_of_one_message_are_cached_apart(self):
        made = ChatTemplate(Vocabulary(SWITCHES))
        assert made.tokens(ASK, reasoning=True) != made.tokens(ASK)
        assert made.tokens(ASK, reasoning=True) == made.tokens(ASK, reasoning=True)
