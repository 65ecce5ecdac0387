"""A day is named as shortly as it can be told from others."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.utils import timezone, translation

from chat.templatetags.days import day


@pytest.mark.parametrize(
    ("moment", "english", "german"),
    [
        (datetime(2026, 3, 1, 9, tzinfo=UTC), "today", "heute"),
        (datetime(2026, 2, 28, 9, tzinfo=UTC), "yesterday", "gestern"),
        (datetime(2026, 1, 2, 9, tzinfo=UTC), "2 Jan", "2. Jan"),
        (datetime(2024, 5, 2, 9, tzinfo=UTC), "2 May 2024", "2. Mai 2024"),
    ],
)
def test_of_another_year_its_year_is_told(clock, moment, english, german):
    assert day(moment) == english
    with translation.override("de"):
        assert day(moment).replace(".", "") == german.replace(".", "")


def test_the_year_is_that_of_the_readers_clock(clock):
    with timezone.override("America/New_York"):
        assert day(datetime(2026, 1, 1, 3, tzinfo=UTC)) == "31 Dec 2025"
