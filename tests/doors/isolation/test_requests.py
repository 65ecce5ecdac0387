"""Each request of the table by its owner, and by every caller whom it must be refused."""

from __future__ import annotations

import pytest

from chat.models import Scope

from .bad_tokens import REASONS, make_bad_token
from .callers import Caller, leads_to_login, text_of
from .conftest import MARK, MARK_OF_THE_OTHER, make_ids
from .entries import Entry, For
from .table import ENTRIES, PROGRAMS
from .watch import keep_owned, read_rows, record_writes, rolled_back

# One of its tests sends hundreds of requests, so the file is begun early.
pytestmark = pytest.mark.slow

# Pages are asked for as a whole and as a part, by htmx.
WAYS = [(entry, htmx) for entry in ENTRIES for htmx in ((False,) if entry in PROGRAMS else (False, True))]

# Whether the requests that read something show a text of their owner.
READS = {str(entry): not entry.bare for entry in ENTRIES if entry.method == "GET"}


def describe(entry: Entry, htmx: bool, answer) -> str:
    return f"{entry}{' by htmx' if htmx else ''}: {answer.status_code} {text_of(answer)[:100]}"


def is_allowed(entry: Entry, answer, *, htmx: bool = False) -> bool:
    told = (409, 422) if entry.incomplete else ()
    return answer.status_code in (200, 201, 202, 204, 302, *told) and not leads_to_login(answer, htmx=htmx)


@pytest.mark.django_db
@pytest.mark.parametrize("who", ["the owner by login", "the owner by full token"])
def test_the_owner_may_make_every_request_and_sees_their_texts(ids, other_ids, make_caller, keep_upload, who):
    caller, wrong, seen = make_caller(who), [], dict.fromkeys(READS, False)
    for entry, htmx in WAYS:
        if entry.replies or ("token" in who and (htmx or entry.refuses_tokens)):
            continue
        with rolled_back():
            answer = caller.ask(entry, ids, htmx=htmx)
            text = text_of(answer)
        keep_upload()
        if not is_allowed(entry, answer, htmx=htmx) or MARK_OF_THE_OTHER in text:
            wrong.append(describe(entry, htmx, answer))
        if entry.method == "GET":
            seen[str(entry)] |= MARK in text
    assert wrong == []
    assert "token" in who or seen == READS


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("entry", [entry for entry in ENTRIES if entry.replies], ids=str)
def test_the_owner_may_start_a_reply(ids, owner, make_caller, entry):
    by_program = entry.scopes is not None
    caller = Caller.with_scopes(owner, entry.scopes) if by_program else make_caller("the owner by login")
    answer = caller.ask(entry, ids)
    assert is_allowed(entry, answer), text_of(answer)


@pytest.mark.django_db
def test_a_token_with_just_the_needed_scopes_may_make_a_request(ids, owner, keep_upload):
    programs: dict[frozenset[str], Caller] = {}
    for entry in ENTRIES:
        if entry.scopes is None or entry.replies:
            continue
        for scopes in [{one} for one in entry.scopes] if entry.either else [entry.scopes or {"import"}]:
            key = frozenset(scopes)
            if key not in programs:
                programs[key] = Caller.with_scopes(owner, key)
            with rolled_back():
                answer = programs[key].ask(entry, ids)
                assert is_allowed(entry, answer), describe(entry, False, answer)
            keep_upload()


def find_faults(caller: Caller, ways, ids, refused) -> list[str]:
    """Return what is wrong with the answers to requests that must be refused, each with its request.

    `refused` says of an entry and an answer whether this is the expected refusal.
    """
    before, wrong = read_rows(), []
    for entry, htmx in ways:
        with record_writes() as writes:
            answer = caller.ask(entry, ids, htmx=htmx)
        # A message is counted while it is tried, and the count is taken back where it is refused.
        writes = [one for one in writes if '"chat_quotause"' not in one]
        if not refused(entry, answer, htmx) or MARK in text_of(answer) or writes:
            wrong.append(f"{describe(entry, htmx, answer)} {writes}")
    return wrong + ["The database has changed."] * (read_rows() != before)


NAMING = [(entry, htmx) for entry, htmx in WAYS if entry.names]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("who", "mode"),
    [
        ("the other user by login", "server"),
        ("the other user by full token", "local"),
        ("the other user by token", "server"),
        ("the other user by token", "local"),
        ("staff by login", "server"),
    ],
)
def test_another_user_does_not_find_an_object_of_the_owner(ids, other_ids, make_caller, settings, who, mode):
    caller = make_caller(who)
    settings.MODE = mode

    def is_refused(entry: Entry, answer, htmx: bool) -> bool:
        if "token" in who and (entry.refuses_tokens or (entry.scopes is None and "full" not in who)):
            return answer.status_code == 403
        return is_allowed(entry, answer, htmx=htmx) if entry.lenient else answer.status_code == 404

    # Admins find all accounts and invitations.
    ways = [way for way in NAMING if who != "staff by login" or way[0].whom is not For.ADMINS]
    assert find_faults(caller, ways, ids, is_refused) == []


@pytest.mark.django_db
def test_a_member_finds_no_page_for_admins(ids, make_caller):
    ways = [way for way in WAYS if way[0].whom is For.ADMINS]
    assert len(ways) > 10

    def is_refused(entry: Entry, answer, htmx: bool) -> bool:
        return answer.status_code == 404

    assert find_faults(make_caller("the other user by login"), ways, ids, is_refused) == []


@pytest.mark.django_db
@pytest.mark.parametrize("who", ["the other user by login", "staff by login", "the other user by full token"])
def test_another_user_sees_and_changes_only_their_own_data(ids, make_caller, other, who):
    keys = read_rows().keys()
    make_ids(other, MARK_OF_THE_OTHER)
    mine, caller, wrong = keep_owned(read_rows(), keys, other), make_caller(who), []
    seen: set[str] = set()
    for entry, htmx in WAYS:
        if entry.names or entry.replies or ("token" in who and entry.refuses_tokens):
            continue
        if entry.whom is For.ADMINS and who != "staff by login":
            continue
        with rolled_back(), record_writes() as writes:
            answer = caller.ask(entry, ids, htmx=htmx)
            text = text_of(answer)
            after = read_rows() if writes else mine
        copied = [row for key, row in after.items() if key not in keys and MARK in str(row)]
        changed = [key for key, row in mine.items() if after.get(key) != row]
        if not is_allowed(entry, answer, htmx=htmx) or MARK in text or copied or changed:
            wrong.append(f"{describe(entry, htmx, answer)} {copied} {changed}")
        if MARK_OF_THE_OTHER in text:
            seen.add(str(entry))
    assert wrong == []
    shown = [e for e in ENTRIES if e.method == "GET" and not e.bare and not e.names]
    asked = [e for e in shown if not ("token" in who and e.refuses_tokens)]
    assert seen >= {str(e) for e in asked if e.whom is not For.ADMINS}


@pytest.mark.django_db
def test_an_object_of_the_owner_beside_one_of_the_caller_is_not_touched(ids, make_caller, other):
    keys = read_rows().keys()
    theirs = make_ids(other, MARK_OF_THE_OTHER)
    mine, caller, wrong = keep_owned(read_rows(), keys, other), make_caller("the other user by login"), []
    mixed = [(entry, htmx, name) for entry, htmx in WAYS if len(entry.names) > 1 for name in entry.names]
    for entry, htmx, name in mixed:
        with rolled_back():
            answer = caller.ask(entry, theirs | {name: ids[name]}, htmx=htmx)
            text, after = text_of(answer), read_rows()
        copied = [row for key, row in after.items() if key not in keys and MARK in str(row)]
        changed = [key for key, row in mine.items() if after.get(key) != row]
        linked = [row for key, row in after.items() if key not in keys and ids[name] in str(row)]
        if answer.status_code >= 500 or MARK in text or copied or changed or linked:
            wrong.append(f"{name}: {describe(entry, htmx, answer)} {copied} {changed} {linked}")
    assert len(mixed) > 10
    assert wrong == []


@pytest.mark.django_db
def test_without_login_every_page_leads_to_the_login_and_programs_are_refused(ids):
    def is_refused(entry: Entry, answer, htmx: bool) -> bool:
        if entry.is_public:
            return answer.status_code == (410 if entry.over else 200)
        if entry.whom is For.PROGRAMS:
            return answer.status_code == 401 and not answer.headers["WWW-Authenticate"].startswith("Basic")
        return leads_to_login(answer, htmx=htmx)

    assert find_faults(Caller.by_login(None), WAYS, ids, is_refused) == []


@pytest.mark.django_db
def test_in_local_mode_programs_need_a_token(ids, settings):
    settings.MODE = "local"
    asked = [(entry, False) for entry in PROGRAMS]
    assert find_faults(Caller(), asked, ids, lambda entry, answer, htmx: answer.status_code == 401) == []


@pytest.mark.django_db
@pytest.mark.parametrize("reason", REASONS)
def test_a_token_that_is_not_valid_opens_nothing(ids, owner, settings, reason):
    program = Caller.by_token(make_bad_token(owner, reason))

    def is_refused(entry: Entry, answer, htmx: bool) -> bool:
        if entry.whom is For.PROGRAMS:
            return answer.status_code == 401
        if entry.method == "GET":
            return leads_to_login(answer) or entry.is_public
        return answer.status_code == 403

    assert find_faults(program, [(entry, False) for entry in ENTRIES], ids, is_refused) == []
    settings.MODE = "local"
    assert find_faults(program, [(entry, False) for entry in PROGRAMS], ids, is_refused) == []


@pytest.mark.django_db
@pytest.mark.parametrize("mode", ["local", "server"])
def test_the_page_of_another_site_is_refused_also_with_the_login_of_the_owner(ids, owner, settings, mode):
    page = Caller.by_login(owner, "http://elsewhere.example")
    settings.MODE = mode
    reading = [(entry, htmx) for entry, htmx in WAYS if entry.method == "GET"]
    writing = [way for way in WAYS if way not in reading]

    def is_refused(entry: Entry, answer, htmx: bool) -> bool:
        asks_for_token = entry.address in ("metrics", "api/openapi.json")
        return answer.status_code == 403 or (answer.status_code == 401 and asks_for_token)

    programs = [(entry, htmx) for entry, htmx in reading if entry.whom is For.PROGRAMS]
    assert find_faults(page, writing + programs, ids, is_refused) == []
    page.headers |= {"sec-fetch-site": "cross-site", "sec-fetch-mode": "cors"}
    assert find_faults(page, WAYS, ids, is_refused) == []


@pytest.mark.django_db
@pytest.mark.parametrize("scope", Scope.values)
def test_a_token_without_a_needed_scope_is_refused(ids, owner, scope):
    def is_refused(entry: Entry, answer, htmx: bool) -> bool:
        challenge = answer.headers.get("WWW-Authenticate", "")
        return answer.status_code == 403 and (entry.scopes is None or "insufficient_scope" in challenge)

    for scopes in ({scope}, set(Scope.values) - {scope}):
        program = Caller.with_scopes(owner, scopes)
        asked = [(entry, False) for entry in PROGRAMS if not entry.allows(scopes)]
        assert find_faults(program, asked, ids, is_refused) == []


@pytest.mark.django_db
def test_a_token_with_all_scopes_opens_no_page(ids, make_caller):
    pages = [(entry, htmx) for entry, htmx in WAYS if not entry.allows(Scope.values)]
    # The health checks and the stream check need no login, so a stranger gets the same answer.
    checks = ("GET /live", "GET /ready", "GET /v1/stream-check")
    pages = [(entry, htmx) for entry, htmx in pages if str(entry) not in checks]
    assert len(pages) > 100

    def is_refused(entry: Entry, answer, htmx: bool) -> bool:
        return answer.status_code == 403

    assert find_faults(make_caller("the owner by token"), pages, ids, is_refused) == []


@pytest.mark.django_db
def test_no_token_opens_what_is_for_people_in_their_browser(ids, make_caller):
    asked = [(entry, htmx) for entry, htmx in WAYS if entry.refuses_tokens]

    def is_refused(entry: Entry, answer, htmx: bool) -> bool:
        return answer.status_code == 403

    assert find_faults(make_caller("the owner by full token"), asked, ids, is_refused) == []
