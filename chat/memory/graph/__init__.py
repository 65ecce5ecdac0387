"""Extracts entities and their relations from normalized facts by rules; uses no model and no Django."""

from .rules import extract_relations
from .types import EntityMention, Relation

__all__ = ["EntityMention", "Relation", "extract_relations"]
