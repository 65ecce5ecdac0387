"""Dates are shown in their shortest unambiguous form."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.utils import timezone, translation

from chat.templatetags.display import short_date


@pytest.mark.parametrize(
    ("moment", "english", "german"),
    [
        (datetime(2026, 3, 1, 9, tzinfo=UTC), "today", "heute"),
        (datetime(2026, 2, 28, 9, tzinfo=UTC), "yesterday", "gestern"),
        (datetime(2026, 1, 2, 9, tzinfo=UTC), "2 Jan", "2. Jan"),
        (datetime(2024, 5, 2, 9, tzinfo=UTC), "2 May 2024", "2. Mai 2024"),
    ],
)
def test_a_date_in_another_year_shows_the_year(clock, moment, english, german):
    assert short_date(moment) == english
    with translation.override("de"):
        assert short_date(moment).replace(".", "") == german.replace(".", "")


def test_the_year_is_that_of_the_current_time_zone(clock):
    with timezone.override("America/New_York"):
        assert short_date(datetime(2026, 1, 1, 3, tzinfo=UTC)) == "31 Dec 2025"
