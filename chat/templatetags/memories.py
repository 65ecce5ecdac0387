"""How templates show a memory's words."""

from __future__ import annotations

from django import template

from chat.memory import shown as words

register = template.Library()


@register.filter
def shown(text: str) -> str:
    """Return a fact's words as a card has them."""
    return words.shown(text)


@register.filter
def inside(text: str) -> str:
    """Return a fact's words as they stand inside a sentence."""
    return words.shown(text, inside=True)
