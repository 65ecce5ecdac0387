"""Nouns: one file a noun, reads as QuerySet methods, no business logic."""

from .app import App, Strategy
from .app_memory import COMPACTIONS, MAX_CONTENT, AppMemory, AppMemoryEvent, AppMemoryEventKind
from .conversation import Conversation, MemoryMode, TitledBy
from .deletion import Deletion, DeletionState, Tombstone
from .extraction_run import ExtractionRun
from .fact import Category, Fact, Origin
from .fact_event import FactEvent, FactEventKind
from .graph import Entity, EntityType, Relationship
from .idempotency import IdempotentRequest
from .job import Energy, Job, UsageRecord
from .message import Message, MessageState, PromptReport, Role
from .owner import ApiToken, OwnerSettings, Theme
from .search import SearchEntry
from .topic import Topic, TopicArchive

__all__ = [
    "COMPACTIONS",
    "MAX_CONTENT",
    "ApiToken",
    "App",
    "AppMemory",
    "AppMemoryEvent",
    "AppMemoryEventKind",
    "Category",
    "Conversation",
    "Deletion",
    "DeletionState",
    "Energy",
    "Entity",
    "EntityType",
    "ExtractionRun",
    "Fact",
    "FactEvent",
    "FactEventKind",
    "IdempotentRequest",
    "Job",
    "MemoryMode",
    "Message",
    "MessageState",
    "Origin",
    "OwnerSettings",
    "PromptReport",
    "Relationship",
    "Role",
    "SearchEntry",
    "Strategy",
    "Theme",
    "TitledBy",
    "Tombstone",
    "Topic",
    "TopicArchive",
    "UsageRecord",
]
