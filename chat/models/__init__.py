"""Nouns: one file a noun, reads as QuerySet methods, no business logic."""

from .app import App
from .conversation import Conversation, MemoryMode
from .fact import (
    Category,
    Deletion,
    DeletionState,
    ExtractionRun,
    Fact,
    FactEvent,
    FactEventKind,
    Origin,
)
from .job import Job, UsageRecord
from .message import Message, MessageState, PromptReport, Role
from .owner import ApiToken, OwnerSettings

__all__ = [
    "ApiToken",
    "App",
    "Category",
    "Conversation",
    "Deletion",
    "DeletionState",
    "ExtractionRun",
    "Fact",
    "FactEvent",
    "FactEventKind",
    "Job",
    "MemoryMode",
    "Message",
    "MessageState",
    "Origin",
    "OwnerSettings",
    "PromptReport",
    "Role",
    "UsageRecord",
]
