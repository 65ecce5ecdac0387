"""What a model writes to reason before its reply: collected while it comes, and stored with the reply."""

from __future__ import annotations

import time
from dataclasses import dataclass

from chat.models import Message

from .hub import REASONING, hub


@dataclass
class ReplyReasoning:
    """The reasoning before one reply, and its seconds from the first piece to the last."""

    conversation: str
    reply: str
    text: str = ""
    seconds: float | None = None
    _began_monotonic: float = 0.0

    def add(self, piece: str) -> None:
        """Add a piece of reasoning; at the first one, open pages are told to show that the model reasons."""
        now = time.monotonic()
        if not self.text:
            self._began_monotonic = now
            hub.show_place(self.conversation, self.reply, REASONING)
        # Databases cannot store half a surrogate pair, and PostgreSQL no NUL.
        self.text += piece.replace("\0", "").encode(errors="replace").decode()
        self.seconds = now - self._began_monotonic

    def set_on(self, row: Message) -> None:
        """Copy text and seconds to the reply's row; the caller saves the row at the end of the reply."""
        row.reasoning, row.reasoning_seconds = self.text.strip(), self.seconds
