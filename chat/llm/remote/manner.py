"""How requests must be worded for a server: some call a parameter otherwise, some do not take it at all."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .events import Json
from .troubles import Refusal

# Parameters that an answer can do without.
_OPTIONAL = ("temperature", "stream_options", "cache_prompt", "id_slot", "chat_template_kwargs")


@dataclass(frozen=True, slots=True)
class Manner:
    """What was learned from a server's refusals."""

    left_out: frozenset[str] = frozenset()
    # OpenAI's newer models know only this name for it.
    new_name: bool = False
    # Tokens for thoughts beside the reply, with models that think aloud.
    thinking: int = 2048

    def worded(self, body: Json) -> Json:
        """Return a request as this server takes it."""
        worded = {name: value for name, value in body.items() if name not in self.left_out}
        if self.new_name and "max_tokens" in worded:
            worded["max_completion_tokens"] = worded.pop("max_tokens")
        return worded

    def after(self, refusal: Refusal, body: Json) -> Manner | None:
        """Return the manner that does without what was refused, None where that was nothing of this kind."""
        if refusal.status not in (400, 422):
            return None
        if "max_completion_tokens" in refusal.text and "max_tokens" in body:
            return replace(self, new_name=True)
        for name in _OPTIONAL:
            if name in body and name in refusal.text:
                return replace(self, left_out=self.left_out | {name})
        return None
