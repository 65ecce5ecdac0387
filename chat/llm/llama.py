"""The default provider: llama.cpp in this process, used through the engine's thread."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from chat.errors import ModelNotReady, PromptTooLong, ProviderError, Unfinished

from .engine import Engine
from .engine_request import EngineRequest
from .fixed_prompts import FixedPromptStore
from .native import LIBRARY_VERSION, Native
from .reasoning import ReasoningSeparator
from .state_cache import StateCache
from .template import ChatTemplate
from .types import REASONING_TOKENS, Completion, Finish, GenerationOptions, Turn, Usage

# Sequences in the context of conversations: the one that is being written, and prompts evaluated in advance.
SEQUENCES = 4
# A prompt with reasoning may be longer by so many tokens than the same one without.
_REASONING_PROMPT_TOKENS = 64
# Cells of the context of background prompts; the context of conversations has two windows. The fixed
# beginnings of all background prompts take 4,122 tokens of the default model and stay there; the rest is for
# what follows the beginning of the running one.
BACKGROUND_CELLS = 6144


class LlamaStream:
    """The text of one reply without its reasoning, in whole characters.

    `remember` gets the text and its token ids at the end, unless the model reasoned before. `end` ends the
    request when the reply itself has `max_tokens`.
    """

    def __init__(
        self,
        request: EngineRequest,
        separator: ReasoningSeparator,
        *,
        max_tokens: int,
        remember: Callable[[str, list[int]], None],
        end: Callable[[], None],
    ) -> None:
        self._request = request
        self._separator = separator
        self._max_tokens = max_tokens
        self._remember = remember
        self._end = end
        self._is_full = False

    @property
    def usage(self) -> Usage:
        """Return the cost of the reply so far."""
        return self._request.usage

    @property
    def finish(self) -> Finish:
        """Return why the reply ended."""
        return "length" if self._is_full else self._request.finish

    def __iter__(self) -> Iterator[str]:
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        text: list[str] = []
        tokens = 0
        for raw in self._request:
            reasoning, piece = self._separator.take(decoder.decode(raw))
            self._request.options.announce_reasoning(reasoning)
            tokens += bool(text or piece)
            self.usage.reasoning_tokens += self._separator.found and not (text or piece)
            if piece:
                text.append(piece)
                yield piece
            if tokens >= self._max_tokens and self._separator.found:
                self._is_full = True
                self._end()
                break
        reasoning, rest = self._separator.finish()
        self._request.options.announce_reasoning(reasoning)
        if rest:
            text.append(rest)
            yield rest
        if not self._separator.found:
            self._remember("".join(text), list(self._request.generated))
        elif not text and self.finish != "cancelled":
            raise ProviderError("server-no-reply")


class LlamaProvider:
    """A GGUF model on this machine. `window` is in tokens.

    `before_load` is called with the model's file in the engine's thread before the file is loaded; an
    exception that it raises is passed to `on_error` as the reason why there is no model. States of fixed
    prompts are stored in `fixed_prompts_folder`; without a folder they are not.
    """

    remote = False
    # The engine's thread serves one request at a time.
    places = 1

    def __init__(
        self,
        name: str,
        path: Path,
        *,
        window: int,
        threads: int,
        on_error: Callable[[Exception], None],
        state_cache: StateCache | None = None,
        before_load: Callable[[Path], None] | None = None,
        fixed_prompts_folder: Path | None = None,
    ) -> None:
        self.name = name
        self.source = path, window
        self.context_window = self._longest = window
        self._native: Native | None = None
        self._template: ChatTemplate | None = None
        build = partial(self._build, path, window, threads, before_load)
        self.engine = Engine(
            build,
            background_cells=BACKGROUND_CELLS,
            state_cache=state_cache or StateCache(0),
            on_error=on_error,
            fixed_prompts=(
                FixedPromptStore(fixed_prompts_folder, path, LIBRARY_VERSION)
                if fixed_prompts_folder is not None
                else None
            ),
        )

    def _build(
        self, path: Path, window: int, threads: int, before_load: Callable[[Path], None] | None
    ) -> Native:
        if before_load is not None:
            before_load(path)
        native = Native(path, cells=2 * window, sequences=SEQUENCES, threads=threads)
        self.context_window = min(window, native.trained_context)
        # A background prompt may exceed a small window, but not the context that the model was trained with.
        self._longest = min(max(window, BACKGROUND_CELLS), native.trained_context)
        self._template = ChatTemplate(native)
        self._native = native
        return native

    def _loaded(self) -> tuple[Native, ChatTemplate]:
        if self._native is None or self._template is None:
            raise ModelNotReady("model-still-loading")
        return self._native, self._template

    @property
    def can_reason(self) -> bool:
        """Return whether the model can reason before a reply, or leave that out."""
        return self._template is not None and self._template.can_reason

    def count_tokens(self, turns: Sequence[Turn]) -> int:
        """Return the length of a prompt in tokens, counted with the model's tokenizer and chat template."""
        return len(self._loaded()[1].tokens(turns))

    def count_text(self, text: str) -> int:
        """Return the length of a piece of text in tokens."""
        return self._loaded()[0].count(text)

    def stream(self, turns: Sequence[Turn], options: GenerationOptions) -> LlamaStream:
        """Begin a reply that continues the slot's cached prefix."""
        template = self._loaded()[1]
        request = self._submit(turns, self._allow_reasoning(turns, options))
        return LlamaStream(
            request,
            ReasoningSeparator(template.opened_tag(reasoning=options.reasoning)),
            max_tokens=options.max_tokens,
            remember=partial(template.remember_reply, reasoning=options.reasoning),
            # The engine ends the request before its next token. `LlamaStream.finish` then says "length".
            end=request.stop.set,
        )

    def _allow_reasoning(self, turns: Sequence[Turn], options: GenerationOptions) -> GenerationOptions:
        """Return options whose limit has room for the reasoning, as far as the window allows."""
        if not (options.reasoning and self.can_reason):
            return options
        longest = min(self._longest, self._loaded()[0].cells)
        free = longest - self.count_tokens(turns) - options.max_tokens - _REASONING_PROMPT_TOKENS
        return replace(options, max_tokens=options.max_tokens + max(0, min(REASONING_TOKENS, free)))

    def complete(self, turns: Sequence[Turn], options: GenerationOptions) -> Completion:
        """Return a whole answer, generated in the context of background prompts; raises Unfinished."""
        request = self._submit(turns, options, background=True)
        text = _read_all(request).decode(errors="replace")
        return Completion(text, request.finish, request.usage)

    def prefill(self, turns: Sequence[Turn], *, slot: str, owner: str) -> Usage:
        """Evaluate a prompt of this owner into a slot in the background lane, wait for it, and return its
        cost.
        """
        request = self._submit(turns, GenerationOptions(slot=slot, owner=owner, max_tokens=0))
        _read_all(request)
        return request.usage

    def prefill_fixed(self, turns: Sequence[Turn], *, slot: str, background: bool = False) -> Usage:
        """Evaluate the beginning that all prompts of one kind share, or load its saved state from the store.

        It must contain nothing that a user wrote, because the store keeps it. `background` selects the
        context of background prompts. The work does not count against the background budget. Waits for the
        end and returns the cost.
        """
        options = GenerationOptions(slot=slot, max_tokens=0)
        request = self._submit(turns, options, background=background, fixed=True)
        _read_all(request)
        return request.usage

    def forget(self, slots: Collection[str] | None, *, keep: Mapping[str, Sequence[Turn]]) -> None:
        """Delete the cached prefixes of these slots, None for those of all conversations, and of all
        background slots except the prompts in `keep`.
        """
        template = self._loaded()[1]
        template.forget_prompts()
        self.engine.forget(slots, {slot: template.tokens(turns) for slot, turns in keep.items()})

    def _submit(
        self,
        turns: Sequence[Turn],
        options: GenerationOptions,
        *,
        background: bool = False,
        fixed: bool = False,
    ) -> EngineRequest:
        tokens = self._loaded()[1].tokens(turns, reasoning=options.reasoning)
        if len(tokens) + options.max_tokens > self._longest:
            raise PromptTooLong("conversation-too-long")
        request = EngineRequest(tokens, options, background=background, fixed=fixed)
        request.stop.on_set(partial(self.engine.stop, request))
        return self.engine.submit(request)

    def close(self) -> None:
        """Stop the engine and free the model; later calls raise ModelNotReady."""
        # First: using the tokenizer after the model was freed would crash the process.
        self._native = self._template = None
        self.engine.close()


def _read_all(request: EngineRequest) -> bytes:
    """Return all bytes of an answer.

    Raises Unfinished for a partial one; a ProviderError carries the usage.
    """
    try:
        answer = b"".join(request)
    except ProviderError as problem:
        problem.usage = request.usage
        raise
    if request.finish == "cancelled":
        raise Unfinished(request.usage)
    return answer
