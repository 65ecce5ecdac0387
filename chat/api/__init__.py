"""The door for programs: `MemoryManager` for Python without any web (seeds 001 and 002)."""

from .manager import MemoryManager
from .patience import DatabaseLocked
from .schema import Message

__all__ = ["DatabaseLocked", "MemoryManager", "Message"]
