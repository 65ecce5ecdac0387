"""Database tables, one module for each subject.

Queries are QuerySet methods; business logic is in `chat.actions`.
"""

from django.contrib.auth.models import User

from .api_token import FULL, ApiToken, Scope
from .app import App, Strategy
from .app_memory import COMPACTIONS, MAX_CONTENT, AppMemory, AppMemoryEvent, AppMemoryEventKind
from .clock import ClockReading
from .conversation import Conversation, MemoryMode, TitledBy
from .deletion import Deletion, DeletionState, Tombstone
from .fact import Category, Durability, ExtractionRun, Fact, FactEvent, FactEventKind, Origin
from .graph import Entity, EntityType, Relationship
from .job import Energy, Job, UsageRecord
from .login_failure import LoginFailure
from .message import Message, MessageState, PromptReport, Role
from .owner import IdempotentRequest, OwnerSettings, Theme
from .past_chats import MessageWindow, Quotation
from .people import (
    AccountRequest,
    AccountRole,
    AdminAct,
    AdminActKind,
    FirstLink,
    Invitation,
    active_admins,
    digest_of,
)
from .process import ImportUpload, ImportUploadPart, Installation, Process, ProcessKind
from .quota import PersonQuota, QuotaUse
from .request_outcome import OutcomeKind, RequestOutcome
from .search import SearchEntry
from .topic import Topic, TopicArchive

__all__ = [
    "COMPACTIONS",
    "FULL",
    "MAX_CONTENT",
    "AccountRequest",
    "AccountRole",
    "AdminAct",
    "AdminActKind",
    "ApiToken",
    "App",
    "AppMemory",
    "AppMemoryEvent",
    "AppMemoryEventKind",
    "Category",
    "ClockReading",
    "Conversation",
    "Deletion",
    "DeletionState",
    "Durability",
    "Energy",
    "Entity",
    "EntityType",
    "ExtractionRun",
    "Fact",
    "FactEvent",
    "FactEventKind",
    "FirstLink",
    "IdempotentRequest",
    "ImportUpload",
    "ImportUploadPart",
    "Installation",
    "Invitation",
    "Job",
    "LoginFailure",
    "MemoryMode",
    "Message",
    "MessageState",
    "MessageWindow",
    "Origin",
    "OutcomeKind",
    "OwnerSettings",
    "PersonQuota",
    "Process",
    "ProcessKind",
    "PromptReport",
    "QuotaUse",
    "Quotation",
    "Relationship",
    "RequestOutcome",
    "Role",
    "Scope",
    "SearchEntry",
    "Strategy",
    "Theme",
    "TitledBy",
    "Tombstone",
    "Topic",
    "TopicArchive",
    "UsageRecord",
    "User",
    "active_admins",
    "digest_of",
]
