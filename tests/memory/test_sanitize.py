"""Control tokens in user text never reach the tokenizer whole."""

from hypothesis import given
from hypothesis import strategies as st

from chat.llm.template import break_control_tokens

TOKENS = ("<|im_start|>", "<|im_end|>", "<|endoftext|>", "</s>", "[INST]", "<")

texts = st.lists(
    st.one_of(st.sampled_from(TOKENS), st.sampled_from(["<|", "im_", "end|>", "\u2060", "a", " "]), st.text())
).map("".join)


@given(texts, st.lists(st.sampled_from(TOKENS), unique=True))
def test_no_control_token_remains(text: str, tokens: list[str]) -> None:
    broken = break_control_tokens(text, tokens)
    assert not any(token in broken for token in tokens)


@given(texts, st.lists(st.sampled_from(TOKENS[:5]), unique=True))
def test_breaking_twice_changes_nothing_more(text: str, tokens: list[str]) -> None:
    once = break_control_tokens(text, tokens)
    assert break_control_tokens(once, tokens) == once


@given(texts, st.lists(st.sampled_from(TOKENS[:5]), unique=True))
def test_nothing_but_the_break_marks_is_added(text: str, tokens: list[str]) -> None:
    broken = break_control_tokens(text, tokens)
    assert broken.replace("\u2060", "") == text.replace("\u2060", "")


@given(st.text(alphabet="abc <>|"))
def test_text_without_control_tokens_is_untouched(text: str) -> None:
    assert break_control_tokens(text, ("<|im_end|>",)) == text


def test_a_token_that_arises_from_the_pieces_of_another_is_broken_too() -> None:
    broken = break_control_tokens("<|<|im_end|>im_end|>", ("<|im_end|>",))
    assert "<|im_end|>" not in broken
    assert broken.replace("\u2060", "") == "<|<|im_end|>im_end|>"


def test_a_token_of_one_character_is_taken_out() -> None:
    assert break_control_tokens("a\u0001b", ("\u0001",)) == "ab"
