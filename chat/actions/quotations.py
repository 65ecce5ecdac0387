"""What the owner says about the quotations under a reply."""

from __future__ import annotations

from django.db import transaction

from chat.models import Conversation, Quotation


def set_relevance(quotation: Quotation, *, relevant: bool) -> None:
    """Mark a quotation as irrelevant, or take that back.

    An irrelevant sentence leaves the prompts of its conversation and is not quoted for similar messages. A
    prepared compaction is discarded, because it may contain the sentence. One transaction.
    """
    with transaction.atomic():
        Quotation.objects.filter(pk=quotation.pk).update(irrelevant=not relevant)
        Conversation.objects.filter(pk=quotation.message.conversation_id).update(prepared=None)
