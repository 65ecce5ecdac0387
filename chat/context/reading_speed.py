"""Measures how fast the model reads a prompt, from the reports of the last replies."""

from __future__ import annotations

from statistics import median

from django.db.models import F

from chat.models import PromptReport, User

# Used before any reply was measured: the default model on two cores reads 40 to 70 tokens a second.
USUAL_SPEED = 50.0  # tokens a second
# Shorter readings say little: the rest of a request's time would count as reading.
_LEAST_TOKENS = 100
_LAST_REPORTS = 10


def measure_reading_speed(owner: User) -> float:
    """Return how many tokens of prompt the model reads in a second: the median of the last ten replies.

    USUAL_SPEED before any reply was measured. One query.
    """
    reports = PromptReport.objects.for_owner(owner).filter(
        first_token_ms__gt=0, prompt_tokens__gte=F("cached_tokens") + _LEAST_TOKENS
    )
    rows = reports.order_by("-created_at").values_list("prompt_tokens", "cached_tokens", "first_token_ms")
    speeds = [1000 * (tokens - cached) / spent for tokens, cached, spent in rows[:_LAST_REPORTS] if spent]
    return median(speeds) if speeds else USUAL_SPEED
