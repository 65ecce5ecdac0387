"""Turns to token ids: the model's chat template, broken control tokens in texts, original ids of replies."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from chat.errors import ProviderError, TemplateMissing

from .reasoning import find_closing_tag
from .roles import RoleSupport, adapt_turns, build_message, probe_roles
from .types import Turn

if TYPE_CHECKING:
    from .native import Native

# While the template is rendered, an index between two of these private-use characters stands for a reply.
_MARK = "\ue0f0"
_MAX_REPLIES = 2000
_MAX_PROMPTS = 4


class ChatTemplate:
    """Renders and tokenises conversations for one model. Callable from any thread.

    Raises TemplateMissing for a model file without a chat template, since a guessed one would garble every
    answer, and ProviderError for a template that refuses every prompt.
    """

    def __init__(self, native: Native) -> None:
        # Imported here: `break_control_tokens` is also used without llama.cpp.
        from llama_cpp.llama_chat_format import Jinja2ChatFormatter

        self._native = native
        source = native.chat_template()
        if not source:
            raise TemplateMissing("model-without-template")
        lib_vocab = native.special_tokens()
        self._format = Jinja2ChatFormatter(template=source, bos_token=lib_vocab[0], eos_token=lib_vocab[1])
        self._replies: OrderedDict[str, list[int]] = OrderedDict()
        self._prompts: OrderedDict[tuple[bool, tuple[Turn, ...]], list[int]] = OrderedDict()
        self._lock = threading.Lock()
        self._tails = {wanted: self._find_tail(reasoning=wanted) for wanted in (False, True)}
        self._empty_reasoning = native.tokenize(text) if (text := self._find_empty_reasoning()) else []
        self.roles = probe_roles(self._render)
        # A template that refuses the shortest prompt, as those that need a list of tools, is of no use.
        self._tokenize([Turn("system", "a"), Turn("user", "b")])

    def remember_reply(self, text: str, tokens: list[int], *, reasoning: bool = False) -> None:
        """Remember the token ids of a generated reply.

        Tokenising its text again can give other ids, and then the cached prefix could not be used.
        """
        with self._lock:
            # Cached prompts were tokenised without these ids.
            self._prompts.clear()
            # The template put an empty reasoning before this reply, which is in the model's cached prefix.
            # Later prompts repeat it, so that they begin with that prefix.
            self._replies[text] = tokens if reasoning else self._empty_reasoning + tokens
            self._replies.move_to_end(text)
            while len(self._replies) > _MAX_REPLIES:
                self._replies.popitem(last=False)

    @property
    def can_reason(self) -> bool:
        """Return whether the template lets the model reason, or leave that out."""
        return self._tails[True] != self._tails[False] or bool(find_closing_tag(self._tails[True]))

    def opened_tag(self, *, reasoning: bool) -> str:
        """Return the closing tag of the reasoning in which a prompt ends, "" for none.

        A prompt without reasoning never ends in one.
        """
        return find_closing_tag(self._tails[True]) if reasoning else ""

    def tokens(self, turns: Sequence[Turn], *, reasoning: bool = False) -> list[int]:
        """Return the prompt as token ids, ending where the assistant's reply begins; raises ProviderError.

        With `reasoning` the model may reason before the reply. Without it, reasoning that the template opens
        is closed again.

        The last few prompts are cached: a prompt is counted several times before it is evaluated, and
        tokenising 3,000 tokens takes 9 ms.
        """
        key = reasoning, tuple(turns)
        with self._lock:
            known = self._prompts.get(key)
        if known is not None:
            return list(known)
        tokens = self._tokenize(turns, reasoning=reasoning)
        with self._lock:
            self._prompts[key] = tokens
            while len(self._prompts) > _MAX_PROMPTS:
                self._prompts.popitem(last=False)
        return list(tokens)

    def forget_prompts(self) -> None:
        """Clear the cache of prompts, because their text is being deleted."""
        with self._lock:
            self._prompts.clear()

    def _tokenize(self, turns: Sequence[Turn], *, reasoning: bool = False) -> list[int]:
        known: list[list[int]] = []
        try:
            prompt = self._render(self._build_messages(turns, self.roles, known), reasoning=reasoning)
        except ProviderError:
            # An order of roles that was not probed. Text with labels is refused less often.
            known.clear()
            messages = self._build_messages(turns, self.roles.without_optional_roles(), known)
            prompt = self._render(messages, reasoning=reasoning)
        if not reasoning and (closing := find_closing_tag(self._tails[False])):
            prompt = f"{prompt.rstrip()}\n{closing}\n\n"
        result: list[int] = []
        # Every odd piece is the index of a reply.
        for i, piece in enumerate(prompt.split(_MARK)):
            result.extend(known[int(piece)] if i % 2 else self._native.tokenize(piece) if piece else [])
        return result

    def _build_messages(
        self, turns: Sequence[Turn], roles: RoleSupport, known: list[list[int]]
    ) -> list[dict[str, Any]]:
        """Return the messages for the template; appends the ids of remembered replies to `known`."""
        messages = []
        for turn in adapt_turns(turns, roles):
            ids = self._replies.get(turn.content) if turn.role == "assistant" else None
            content = self._clean(turn.content)
            if ids is not None:
                content = f"{_MARK}{len(known)}{_MARK}"
                known.append(ids)
            messages.append(build_message(turn, content, roles, self._clean))
        return messages

    def _clean(self, text: str) -> str:
        return break_control_tokens(text.replace(_MARK, ""), self._native.control_tokens)

    def _find_tail(self, *, reasoning: bool) -> str:
        """Return what a prompt ends with after the messages; call it before other threads render."""
        messages = [{"role": "user", "content": "a"}]
        try:
            whole = self._render(messages, reasoning=reasoning)
            self._format.add_generation_prompt = False
            return whole.removeprefix(self._render(messages, reasoning=reasoning))
        except ProviderError:
            # The template refuses a prompt of a single user message.
            return ""
        finally:
            self._format.add_generation_prompt = True

    def _find_empty_reasoning(self) -> str:
        """Return the closed, empty reasoning by which a prompt without reasoning differs, "" for none."""
        with_it, without = self._tails[True], self._tails[False]
        if closing := find_closing_tag(without):
            return f"{without[without.rstrip().rfind('<') :].rstrip()}\n{closing}\n\n"
        return without.removeprefix(with_it) if without.startswith(with_it) else ""

    def _render(self, messages: list[dict[str, Any]], *, reasoning: bool = False) -> str:
        try:
            # Qwen's templates named this variable, and other models' templates use it too.
            rendered = self._format(messages=messages, enable_thinking=reasoning)  # type: ignore[arg-type]
            return str(rendered.prompt)
        except Exception as error:  # a template is a program from the model file and may raise anything
            raise ProviderError("model-template-refused", what=str(error)) from error


# WORD JOINER: invisible and without width, so that the text looks unchanged to people and models.
_BREAK = "\u2060"


def break_control_tokens(text: str, control_tokens: Iterable[str]) -> str:
    """Return the text with an invisible character inside each control token, so that it stays plain text.

    A chat template would turn "<|im_end|>" in a user's text into the real control token. Repeats until
    nothing changes, so that no token can arise from pieces of another. A token of one character is removed.
    """
    # Tokens of one length in a fixed order: that of a set differs from process to process.
    tokens = sorted({token for token in control_tokens if token}, key=lambda token: (-len(token), token))
    while True:
        broken = text
        for token in tokens:
            if token in broken:
                broken = broken.replace(token, _break_token(token))
        if broken == text:
            return text
        text = broken


def _break_token(token: str) -> str:
    # A token that contains the word joiner itself cannot be broken by adding one.
    if len(token) == 1 or _BREAK in token:
        return ""
    return token[0] + _BREAK + token[1:]
