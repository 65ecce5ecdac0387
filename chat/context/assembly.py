"""The parts of one prompt: puts them in their order and counts them with the model's own tokenizer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from chat.llm.roles import label_turn
from chat.llm.types import Provider, Turn
from chat.models import Conversation, Message, Role

from .answer_rules import frame_message
from .budget import cut_middle
from .importance import resolve_importance
from .strategies import HistoryExchange, parse_tool_calls, split_into_exchanges

SUMMARY_HEADER = "## Earlier in this conversation"
# Upper estimate of a chat template's tokens around one message; the finished prompt is counted exactly.
_TEMPLATE_TOKENS = 8
# The same around one tool call or one result.
_TOOL_TOKENS = 24


@dataclass(frozen=True, slots=True)
class PromptShape:
    """Which messages of a conversation its prompts contain; the same until the next compaction.

    Messages are given by `seq`: all after `trimmed_through`, and of the earlier ones those in `kept`.
    """

    trimmed_through: int = 0
    kept: tuple[int, ...] = ()
    # By `seq`: how many characters of a message remain; its middle is cut out.
    cuts: Mapping[int, int] = field(default_factory=dict)
    summary: str = ""
    # Quotations in the notes of messages up to this `seq` are left out.
    unquoted_through: int = 0

    @classmethod
    def from_conversation(cls, conversation: Conversation) -> PromptShape:
        """Return the shape of the conversation's last prompt."""
        cuts = {int(seq): keep for seq, keep in conversation.cuts.items()}
        return cls(
            conversation.trimmed_through,
            tuple(conversation.kept),
            cuts,
            conversation.prompt_summary,
            conversation.unquoted_through,
        )

    def includes(self, seq: int) -> bool:
        """Return whether a message is still part of the prompts."""
        return seq > self.trimmed_through or seq in self.kept


@dataclass(slots=True)
class Assembly:
    """The parts of a prompt. Token counts block on the provider and raise ProviderError."""

    provider: Provider
    persona: str
    block: str
    history: Sequence[Message]
    note: str
    message: Message
    shape: PromptShape
    # The quotations from past conversations in the messages' notes, as text, by `seq`.
    quotations: Mapping[int, str] = field(default_factory=dict)

    def kept_messages(self) -> list[Message]:
        """Return the earlier messages that are part of the prompt."""
        return [m for m in self.history if self.shape.includes(m.seq)]

    def turns(self) -> list[Turn]:
        """Return the prompt. This method, `_system_turn` and `frame_message` decide the order of its parts.

        Persona, memory block and summary are the system turn; the earlier messages follow, each user message
        with the note that was sent with it; the new message comes last, with its own note.
        """
        return [self._system_turn(), *map(self._build_turn, self.kept_messages()), self._user_turn()]

    def tokens(self) -> int:
        """Return the exact length of the prompt in tokens."""
        return self.provider.count_tokens(self.turns())

    def tokens_without_memory(self) -> int:
        """Return the exact length of the prompt in tokens without the memory block and this turn's note."""
        return replace(self, block="", note="").tokens()

    def fixed_tokens(self) -> int:
        """Return the length in tokens of the prompt without earlier messages."""
        return self.provider.count_tokens([self._system_turn(), self._user_turn()])

    def exchanges(self) -> list[HistoryExchange]:
        """Return the earlier messages as exchanges; each system message is one of its own."""
        found = []
        for messages in split_into_exchanges(self.history):
            talk = [m for m in messages if m.role != Role.SYSTEM]
            found += [self._build_exchange(talk)] if talk else []
            found += [self._build_exchange([m]) for m in messages if m.role == Role.SYSTEM]
        return found

    def _build_exchange(self, messages: Sequence[Message]) -> HistoryExchange:
        topic: Any = messages[0].topic_id
        return HistoryExchange(
            tuple(m.seq for m in messages),
            sum(map(self.message_tokens, messages)),
            flagged=any(m.flagged for m in messages),
            topic=topic,
            is_system=messages[0].role == Role.SYSTEM,
            importance=max(map(importance_of, messages)),
        )

    def message_tokens(self, message: Message) -> int:
        """Return an upper estimate of one message's tokens in the prompt, its note included."""
        turn = self._build_turn(message)
        tools = len(turn.calls) + (turn.role == "tool")
        return self.provider.count_text(label_turn(turn)) + _TEMPLATE_TOKENS + _TOOL_TOKENS * tools

    def own_tokens(self) -> int:
        """Return an upper estimate of the tokens of the user's message without its note."""
        return self.provider.count_text(self._visible_text(self.message)) + _TEMPLATE_TOKENS

    def _system_turn(self) -> Turn:
        summary = f"{SUMMARY_HEADER}\n\n{self.shape.summary}" if self.shape.summary else ""
        return Turn("system", "\n\n".join(part for part in (self.persona, self.block, summary) if part))

    def _user_turn(self) -> Turn:
        note = self._full_note(self.message, self.note)
        return Turn("user", frame_message(note, self._visible_text(self.message)))

    def _full_note(self, message: Message, note: str) -> str:
        """Return a message's note followed by its quotations, unless a compaction has left these out."""
        quoted = self.quotations.get(message.seq, "") if message.seq > self.shape.unquoted_through else ""
        return join_notes(note, quoted)

    def _build_turn(self, message: Message) -> Turn:
        content = self._visible_text(message)
        match message.role:
            case Role.ASSISTANT:
                return Turn("assistant", content, parse_tool_calls(message))
            case Role.TOOL:
                return Turn("tool", content, call_id=message.tool_call_id, name=message.name)
            case Role.SYSTEM:
                return Turn("system", content)
        return Turn("user", frame_message(self._full_note(message, message.note), content))

    def _visible_text(self, message: Message) -> str:
        keep = self.shape.cuts.get(message.seq)
        return message.content if keep is None else cut_middle(message.content, keep)


def join_notes(*parts: str) -> str:
    """Return the parts of a note as one text, without the empty ones."""
    return "\n\n".join(part for part in parts if part)


def importance_of(message: Message) -> float:
    """Return the importance of a message with its content, 0 to 1; only what somebody said is important."""
    if message.role not in (Role.USER, Role.ASSISTANT) or not message.content:
        return 0.0
    return resolve_importance(
        message.importance,
        message.content,
        flagged=message.flagged,
        is_reply=message.role == Role.ASSISTANT,
    )
