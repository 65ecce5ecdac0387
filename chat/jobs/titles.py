"""Finds a conversation's title while nobody waits for the model."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any

from django.utils import timezone

from chat.actions import jobs, titles
from chat.actions.accounts import accounted
from chat.context import title
from chat.generation import run as generation
from chat.llm.registry import registry
from chat.llm.types import PromptTooLong

from .registry import Postpone, handles
from .thrift import wait_for_energy

logger = logging.getLogger(__name__)

_AFTER_REPLY = timedelta(seconds=3)


@handles("title", slow=True)
def find_title(payload: dict[str, Any]) -> None:
    """Ask the model for a title; one that fails leaves the first words until the next exchange asks again."""
    conversation = titles.waiting().filter(pk=payload["conversation"]).first()
    if conversation is None or not (messages := titles.beginning(conversation)):
        return
    if generation.running() or jobs.is_wanted("extract"):
        # The model would only be taken from it, or from memory, which matters more.
        raise Postpone(timezone.now() + _AFTER_REPLY)
    wait_for_energy()
    try:
        with accounted(registry.provider(), conversation.owner_id) as provider:
            found = title.find_title(provider, messages)
    except (title.TitleFailed, PromptTooLong):
        logger.info("no title was found")
        return
    titles.give_title(conversation.pk, found)
