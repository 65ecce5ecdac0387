"""Interfaces for programs: REST, the OpenAI protocol, and `MemoryManager` for Python without a web server."""

from .manager import DatabaseLocked, MemoryManager
from .schema import SessionMessage as Message

__all__ = ["DatabaseLocked", "MemoryManager", "Message"]
