"""What the owner says about the quotations under a reply."""

from __future__ import annotations

from chat.models import Quotation


def set_relevance(quotation: Quotation, *, relevant: bool) -> None:
    """Mark a quotation as irrelevant, or take that back.

    An irrelevant sentence leaves the prompts of its conversation and is not quoted for similar messages.
    """
    Quotation.objects.filter(pk=quotation.pk).update(irrelevant=not relevant)
