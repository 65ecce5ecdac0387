"""From turns to token ids: the model's own template, harmless user text, replies as they were written."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

from jinja2 import TemplateError
from llama_cpp.llama_chat_format import Jinja2ChatFormatter

from .native import Native
from .sanitize import break_control_tokens
from .types import ProviderError, Turn

# A private-use character around an index stands for a reply while the template is rendered.
_MARK = "\ue0f0"
_REMEMBERED_REPLIES = 2000
_REMEMBERED_PROMPTS = 4


class TemplateMissing(ProviderError):
    """The model file carries no chat template; guessing one would garble every answer (design §4)."""


class ChatTemplate:
    """Renders and tokenises conversations for one model; safe from any thread."""

    def __init__(self, native: Native) -> None:
        self._native = native
        source = native.chat_template()
        if not source:
            raise TemplateMissing("This model file has no chat template, so it cannot be used for chatting.")
        lib_vocab = native.special_tokens()
        self._format = Jinja2ChatFormatter(template=source, bos_token=lib_vocab[0], eos_token=lib_vocab[1])
        self._replies: OrderedDict[str, list[int]] = OrderedDict()
        self._prompts: OrderedDict[tuple[Turn, ...], list[int]] = OrderedDict()
        self._lock = threading.Lock()
        self._merges_system = not self._accepts_system()

    def remember_reply(self, text: str, tokens: list[int]) -> None:
        """Keep the ids a reply was generated with: re-tokenised text can differ and lose the cache."""
        with self._lock:
            # What was tokenised without these ids must not be taken for the next prompt.
            self._prompts.clear()
            self._replies[text] = tokens
            self._replies.move_to_end(text)
            while len(self._replies) > _REMEMBERED_REPLIES:
                self._replies.popitem(last=False)

    def tokens(self, turns: Sequence[Turn]) -> list[int]:
        """Return the prompt as token ids, ending where the assistant is to speak.

        The last few are remembered: a prompt is counted more than once before it is read, and 3,000 tokens
        take a tokenizer 9 ms.
        """
        key = tuple(turns)
        with self._lock:
            known = self._prompts.get(key)
        if known is not None:
            return list(known)
        tokens = self._tokenize(turns)
        with self._lock:
            self._prompts[key] = tokens
            while len(self._prompts) > _REMEMBERED_PROMPTS:
                self._prompts.popitem(last=False)
        return list(tokens)

    def forget(self) -> None:
        """Drop the prompts that are remembered, for words in them are to be forgotten."""
        with self._lock:
            self._prompts.clear()

    def _tokenize(self, turns: Sequence[Turn]) -> list[int]:
        known: list[list[int]] = []
        messages = []
        for turn in self._adapted(turns):
            ids = self._replies.get(turn.content) if turn.role == "assistant" else None
            if ids is not None:
                content = f"{_MARK}{len(known)}{_MARK}"
                known.append(ids)
            else:
                content = break_control_tokens(turn.content.replace(_MARK, ""), self._native.control_tokens)
            messages.append({"role": turn.role, "content": content})
        pieces = self._render(messages).split(_MARK)
        result: list[int] = []
        # Every odd piece is the index of a reply between two marks.
        for i, piece in enumerate(pieces):
            result.extend(known[int(piece)] if i % 2 else self._native.tokenize(piece) if piece else [])
        return result

    def _render(self, messages: list[dict[str, str]]) -> str:
        try:
            return str(self._format(messages=messages).prompt)  # type: ignore[arg-type]
        except (TemplateError, ValueError) as error:
            raise ProviderError(f"The model's chat template refused this conversation ({error}).") from error

    def _accepts_system(self) -> bool:
        # Some templates raise, others leave the system text out in silence.
        probe = [{"role": "system", "content": _MARK}, {"role": "user", "content": "b"}]
        try:
            return _MARK in self._render(probe)
        except ProviderError:
            return False

    def _adapted(self, turns: Sequence[Turn]) -> list[Turn]:
        """Merge neighbours of one role, and the system text into the first user turn where it must be."""
        merged: list[Turn] = []
        for turn in turns:
            if merged and merged[-1].role == turn.role:
                merged[-1] = Turn(turn.role, f"{merged[-1].content}\n\n{turn.content}")
            else:
                merged.append(turn)
        if self._merges_system and len(merged) > 1 and merged[0].role == "system":
            merged[:2] = [Turn(merged[1].role, f"{merged[0].content}\n\n{merged[1].content}")]
        return merged
