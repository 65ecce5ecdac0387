"""Relative dates in facts become absolute dates."""

from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.memory import dates
from chat.memory.date_language import load_date_language
from chat.memory.dates import resolve_relative_dates

SUNDAY = date(2026, 11, 29)


@pytest.mark.parametrize(
    ("text", "resolved"),
    [
        ("User started yesterday", "User started on 31 December 2025"),
        ("User moves next month", "User moves in February 2026"),
        ("User moved last month", "User moved in December 2025"),
        ("User marries next year", "User marries in 2027"),
        ("User moved last week", "User moved in the week of 22 December 2025"),
        ("User broke a leg two weeks ago", "User broke a leg in the week of 15 December 2025"),
        ("User got a cat 3 months ago", "User got a cat in October 2025"),
        ("User swims every day", "User swims every day"),
    ],
)
def test_relative_dates_become_dates_across_the_turn_of_the_year(text, resolved):
    assert resolve_relative_dates(text, date(2026, 1, 1)) == resolved


@pytest.mark.parametrize(
    ("text", "resolved"),
    [
        ("User moved to Porto last week", "User moved to Porto in the week of 16 November 2026"),
        ("User quit drinking two years ago", "User quit drinking in 2024"),
        ("User has an exam next Friday", "User has an exam on 4 December 2026"),
        ("User flew in last Sunday", "User flew in on 22 November 2026"),
        ("User leaves the day after tomorrow", "User leaves on 1 December 2026"),
        ("User was ill last night", "User was ill on 28 November 2026"),
        ("User has guests this weekend", "User has guests on the weekend of 28 November 2026"),
        ("User's thesis is due in two weeks", "User's thesis is due in the week of 7 December 2026"),
        ("User is getting married in 3 months", "User is getting married in February 2027"),
        ("User turns 40 in 10 days", "User turns 40 on 9 December 2026"),
        ("User is moving in a week's time", "User is moving in the week of 30 November 2026"),
        ("Yesterday User sold the car", "On 28 November 2026 User sold the car"),
    ],
)
def test_relative_dates_in_english_are_resolved(text, resolved):
    assert resolve_relative_dates(text, SUNDAY) == resolved


@pytest.mark.parametrize(
    ("text", "resolved"),
    [
        ("Ist letzte Woche nach Graz gezogen", "Ist in der Woche vom 16. November 2026 nach Graz gezogen"),
        ("Raucht seit letztem Jahr nicht mehr", "Raucht seit 2025 nicht mehr"),
        ("Hat vor drei Jahren aufgehört", "Hat 2023 aufgehört"),
        ("Heiratet nächsten Monat", "Heiratet im Dezember 2026"),
        ("Fliegt morgen nach Rom", "Fliegt am 30. November 2026 nach Rom"),
        ("Hat nächsten Dienstag eine Prüfung", "Hat am 1. Dezember 2026 eine Prüfung"),
        ("Muss bis nächste Woche fertig sein", "Muss bis zur Woche vom 30. November 2026 fertig sein"),
        ("Gestern war die Prüfung", "Am 28. November 2026 war die Prüfung"),
        ("Trinkt jeden Morgen Tee", "Trinkt jeden Morgen Tee"),
        ("Plant für nächste Woche", "Plant für nächste Woche"),
    ],
)
def test_relative_dates_in_german_are_resolved(text, resolved):
    assert resolve_relative_dates(text, SUNDAY) == resolved


@pytest.mark.parametrize(
    ("text", "resolved"),
    [
        ("User has to finish by tomorrow", "User has to finish by 30 November 2026"),
        ("User has lived here since last year", "User has lived here since 2025"),
        ("User is away until next week", "User is away until the week of 30 November 2026"),
        ("User has a flight on next Tuesday", "User has a flight on 1 December 2026"),
    ],
)
def test_no_preposition_is_doubled(text, resolved):
    assert resolve_relative_dates(text, SUNDAY) == resolved


@pytest.mark.parametrize(
    "text",
    [
        "User learned Rust in two weeks",
        "User has learned Rust in two weeks",
        "User can run 10 km in 1 day",
        "User has fewer meetings than yesterday",
        "User meets friends on Friday",
        "User reads USA Today",
        "User's favourite song is Yesterday",
        "User works in two offices",
        "Nutzer hat das in zwei Wochen gelernt",
        "L'utilisateur a appris le russe en deux semaines",
    ],
)
def test_ambiguous_dates_stay_unchanged(text):
    assert resolve_relative_dates(text, SUNDAY) == text


@pytest.mark.parametrize(
    ("text", "resolved"),
    [
        ("L'utilisateur est parti hier", "L'utilisateur est parti le 28 novembre 2026"),
        ("L'utilisateur est absent jusqu'à demain", "L'utilisateur est absent jusqu'au 30 novembre 2026"),
        ("L'utilisateur déménage le mois prochain", "L'utilisateur déménage en décembre 2026"),
        (
            "L'utilisateur passe un examen vendredi prochain",
            "L'utilisateur passe un examen le 4 décembre 2026",
        ),
        ("L'utilisateur se marie dans trois jours", "L'utilisateur se marie le 2 décembre 2026"),
        ("El usuario viaja pasado mañana", "El usuario viaja el 1 de diciembre de 2026"),
        (
            "El usuario se mudó la semana pasada",
            "El usuario se mudó en la semana del 16 de noviembre de 2026",
        ),
        (
            "El usuario tiene un examen el próximo viernes",
            "El usuario tiene un examen el 4 de diciembre de 2026",
        ),
        ("El usuario empezó hace tres días", "El usuario empezó el 26 de noviembre de 2026"),
        ("L'utente parte domani", "L'utente parte il 30 novembre 2026"),
        ("L'utente vive a Roma da ieri", "L'utente vive a Roma dal 28 novembre 2026"),
        ("L'utente si sposa tra tre mesi", "L'utente si sposa a febbraio 2027"),
        ("L'utente ha un esame venerdì prossimo", "L'utente ha un esame il 4 dicembre 2026"),
        ("O usuário mudou-se na semana passada", "O usuário mudou-se na semana de 16 de novembro de 2026"),
        ("O usuário viaja depois de amanhã", "O usuário viaja em 1 de dezembro de 2026"),
        ("O usuário tem prova na próxima sexta-feira", "O usuário tem prova em 4 de dezembro de 2026"),
        ("O usuário parte daqui a três dias", "O usuário parte em 2 de dezembro de 2026"),
        ("用户明天出差", "用户2026年11月30日出差"),
        ("用户上个月搬到了上海", "用户2026年10月搬到了上海"),
        ("用户下周五有考试", "用户2026年12月4日有考试"),
        ("用户三天后去北京", "用户2026年12月2日去北京"),
        ("Nutzer hat in drei Tagen eine Prüfung", "Nutzer hat am 2. Dezember 2026 eine Prüfung"),
    ],
)
def test_relative_dates_in_every_language_are_resolved(text, resolved):
    assert resolve_relative_dates(text, SUNDAY) == resolved


LANGUAGES = sorted(path.stem for path in Path(dates.__file__).with_name("languages").glob("*.toml"))


@pytest.mark.parametrize("code", LANGUAGES)
def test_each_language_resolves_the_near_days_weeks_months_and_years(code):
    patterns = load_date_language(code).relative
    found = {(pattern.unit, pattern.offset) for pattern in patterns}
    near = {(unit, offset) for unit in ("day", "week", "month", "year") for offset in (-1, 0, 1)}
    assert found >= near | {("day", -2), ("day", 2), ("away", -1), ("away", 1)}
    assert {unit for unit, _ in found} & {"weekday", "weekday of week"}


@pytest.mark.parametrize("code", LANGUAGES)
@given(day=st.dates(date(1990, 1, 1), date(2099, 12, 31)))
def test_each_language_reads_the_dates_that_it_writes(code, day):
    language = load_date_language(code)
    written = language.write("day", day)
    found = next(match for pattern in language.absolute if (match := pattern.search(written)))
    parts = found.groupdict()
    month = int(parts["number"]) if parts.get("number") else language.number_month(parts["month"])
    assert date(int(parts["year"]), month, int(parts["day"])) == day


@given(
    st.dates(date(1900, 1, 1), date(2200, 1, 1)),
    st.sampled_from(["week", "month", "year"]),
    st.integers(-100, 100),
)
def test_the_spans_that_units_begin_follow_each_other_without_gaps(day, unit, offset):
    first, after = dates.move(day, unit, offset), dates.move(day, unit, offset + 1)
    assert first < after
    assert dates.move(first, unit, 0) == first == dates.move(after - timedelta(days=1), unit, 0)
    assert dates.move(day, unit, 0) <= day < dates.move(day, unit, 1)


@given(st.dates(date(1990, 1, 1), date(2100, 1, 1)))
@pytest.mark.parametrize(
    "text", ["User flew yesterday and returns next month", "War vor zwei Wochen da, kommt morgen"]
)
def test_a_resolved_date_is_not_resolved_again(text, today):
    once = resolve_relative_dates(text, today)
    assert once != text
    assert resolve_relative_dates(once, today) == once


@given(st.text(max_size=80), st.dates(date(2, 1, 1), date(9990, 1, 1)))
def test_no_text_raises_an_error(text, today):
    resolve_relative_dates(text, today)
