"""From when and until when facts hold, and how ages and durations are told later."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.memory.dates import resolve_relative_dates
from chat.memory.fact_dates import (
    NO_DATES,
    FactDates,
    choose_year,
    date_fact,
    find_fact_dates,
    mentions_time,
    tell_with_date,
)
from chat.memory.kinds import KINDS

SUNDAY = date(2026, 11, 29)
MARATHON = date(2027, 4, 12)
days = st.dates(date(1990, 1, 1), date(2099, 12, 31))


@pytest.mark.parametrize(
    "text",
    [
        "User's marathon is on 12 April",
        "User runs a marathon on April 12th",
        "User runs a marathon on 2027-04-12",
        "Nutzer läuft am 12. April einen Marathon",
        "Nutzer läuft am 12.4. einen Marathon",
        "L'utilisateur court un marathon le 12 avril",
        "El usuario corre un maratón el 12 de abril",
        "L'utente corre una maratona il 12 aprile",
        "O usuário corre uma maratona em 12 de abril",
        "用户4月12日跑马拉松",
    ],
)
def test_an_event_holds_until_its_day(text):
    assert find_fact_dates(text, "event", SUNDAY) == FactDates(holds_until=MARATHON)


@pytest.mark.parametrize(
    ("text", "kind", "until"),
    [
        ("User has an exam next Friday", "event", date(2026, 12, 4)),
        ("User is away until next week", "habit", date(2026, 12, 6)),
        ("User has a trip from 3 May to 10 May", "event", date(2027, 5, 10)),
        ("User must finish the thesis by 1 June", "deadline", date(2027, 6, 1)),
        ("User wants to run a marathon in March", "goal", date(2027, 3, 31)),
        ("Nutzer ist bis nächste Woche verreist", "event", date(2026, 12, 6)),
        ("Nutzer hat am Wochenende des 5. Dezember 2026 Besuch", "event", date(2026, 12, 6)),
        ("L'utilisateur est absent jusqu'à demain", "event", date(2026, 11, 30)),
        ("用户下周五有考试", "event", date(2026, 12, 4)),
    ],
)
def test_a_fact_ends_on_the_last_day_that_it_names(text, kind, until):
    dated = date_fact(text, kind, SUNDAY)
    assert dated is not None
    assert dated.dates.holds_until == until


@pytest.mark.parametrize(
    ("text", "kind", "since"),
    [
        ("User moved to Porto last week", "event", date(2026, 11, 16)),
        ("User has lived here since 2025", "home", date(2025, 1, 1)),
        ("User starts at Acme on 1 December 2026", "employer", date(2026, 12, 1)),
        ("Nutzer raucht seit letztem Jahr nicht mehr", "habit", date(2025, 1, 1)),
        ("El usuario vive aquí desde ayer", "home", date(2026, 11, 28)),
    ],
)
def test_a_fact_holds_from_a_past_day_or_from_the_begin_of_what_stays(text, kind, since):
    dated = date_fact(text, kind, SUNDAY)
    assert dated is not None
    assert dated.dates == FactDates(holds_from=since)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("User's birthday is on 12 April", "age"),
        ("User's wedding anniversary is on 12 April", "event"),
        ("Nutzers Geburtstag ist am 12. April", "event"),
        ("L'anniversaire de l'utilisateur est le 12 avril", "event"),
        ("用户的生日是4月12日", "event"),
        ("User may sing in the spring", "event"),
        ("User's shoe size is 42", "likes"),
        ("User meets friends on Friday", "habit"),
    ],
)
def test_what_happens_every_year_or_names_no_day_never_ends(text, kind):
    assert find_fact_dates(text, kind, SUNDAY) == NO_DATES


@pytest.mark.parametrize(
    ("text", "kind", "told"),
    [
        ("User's son is 3", "family", "User's son is 3 in November 2026"),
        ("User is 34 years old", "age", "User is 34 years old in November 2026"),
        ("User's dog is 2 and barks", "pet", "User's dog is 2 (in November 2026) and barks"),
        (
            "User has lived in Oslo for five years",
            "home",
            "User has lived in Oslo for five years in November 2026",
        ),
        ("Nutzers Sohn ist 3", "family", "Nutzers Sohn ist 3 im November 2026"),
        ("Nutzer lernt seit zwei Jahren Griechisch", "learning", "zwei Jahren (im November 2026) Griechisch"),
        ("Le fils de l'utilisateur a 3 ans", "family", "3 ans en novembre 2026"),
        ("El hijo del usuario tiene 3 años", "family", "3 años en noviembre de 2026"),
        ("Il figlio dell'utente ha 3 anni", "family", "3 anni a novembre 2026"),
        ("O filho do usuário tem 3 anos", "family", "3 anos em novembro de 2026"),
        ("用户的儿子3岁", "family", "用户的儿子3岁（2026年11月）"),
        ("用户在上海住了三年了", "home", "三年了（2026年11月）"),
    ],
)
def test_ages_and_durations_are_told_with_the_month_in_which_they_were_said(text, kind, told):
    dated = date_fact(text, kind, SUNDAY)
    assert dated is not None
    assert (dated.text, dated.dates) == (text, FactDates(said_on=SUNDAY))
    assert told in tell_with_date(text, SUNDAY)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("User moved to Porto last week", "event"),
        ("User's son is 3", "family"),
        ("User has lived in Oslo for five years", "home"),
        ("User's marathon is on 12 April", "event"),
        ("Nutzer fliegt morgen nach Rom", "event"),
        ("用户的儿子3岁", "family"),
    ],
)
def test_a_message_of_unknown_date_gives_no_fact_that_depends_on_it(text, kind):
    assert date_fact(text, kind, None) is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("User likes tea", "likes"),
        ("User's marathon is on 12 April 2027", "event"),
        ("User was born in 1990", "age"),
        ("User's birthday is on 12 April", "age"),
    ],
)
def test_a_message_of_unknown_date_gives_other_facts_without_dates(text, kind):
    dated = date_fact(text, kind, None)
    assert dated is not None
    assert (dated.text, dated.dates) == (text, NO_DATES)


@pytest.mark.parametrize(
    "message",
    [
        "How old is my son?",
        "What should I pack for tomorrow?",
        "Wie lange noch bis zum Marathon?",
        "Quand est mon marathon ?",
        "¿Cuántos días faltan?",
        "Quanto manca alla maratona?",
        "Que dia é hoje?",
        "今天星期几？",
    ],
)
def test_a_message_about_time_is_recognised(message):
    assert mentions_time(message)


@pytest.mark.parametrize("message", ["What is the capital of France?", "Schreib mir ein Gedicht.", "你好"])
def test_other_messages_are_not_about_time(message):
    assert not mentions_time(message)


@given(days, days, st.booleans())
def test_a_day_without_a_year_is_the_next_or_the_nearest_one(named, today, is_ahead):
    chosen = choose_year(named.month, named.day, today, is_ahead=is_ahead)
    assert chosen is not None
    assert (chosen.month, chosen.day) == (named.month, named.day)
    longest = 366 * 8 if (named.month, named.day) == (2, 29) else 366
    if is_ahead:
        assert today <= chosen <= today + timedelta(days=longest)
    else:
        assert abs(chosen - today) <= timedelta(days=longest / 2 + 1)


def test_the_present_month_is_not_over():
    dates = find_fact_dates("User wants to finish in November", "goal", SUNDAY)
    assert dates.holds_until == date(2026, 11, 30)


def test_a_day_that_no_year_has_is_none():
    assert choose_year(2, 30, SUNDAY, is_ahead=True) is None


@given(
    days,
    st.sampled_from(
        [
            "User has an exam {}",
            "User has a trip {} to 10 May",
            "Nutzer ist {} weg",
            "User is 3 and leaves {}",
        ]
    ),
    st.sampled_from(
        ["tomorrow", "on 12 April", "in March 2031", "until 2030", "since 2020", "nächste Woche"]
    ),
    st.sampled_from(sorted(KINDS)),
)
def test_a_fact_never_ends_before_the_day_on_which_it_is_said(today, text, when, kind):
    text = resolve_relative_dates(text.format(when), today)
    dates = find_fact_dates(text, kind, today)
    assert dates.holds_until is None or dates.holds_until >= today
    assert dates.said_on in (None, today)


@given(st.text(max_size=80), days, st.sampled_from(sorted(KINDS)))
def test_no_text_raises_an_error(text, today, kind):
    find_fact_dates(text, kind, today)
    date_fact(text, kind, None)
    assert tell_with_date(text, None) == text
    tell_with_date(text, today)
    mentions_time(text)
