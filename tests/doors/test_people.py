"""The page of people: numbers and no contents, for admins; what they change takes effect at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from asgiref.sync import sync_to_async
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from chat.actions import people
from chat.actions.api_tokens import create_token
from chat.actions.facts import add_fact
from chat.actions.messages import send_message
from chat.actions.owners import ensure_owner
from chat.actions.usage import record_call
from chat.errors import Refused
from chat.llm.types import Lane, Usage
from chat.models import (
    AdminAct,
    ApiToken,
    Message,
    UsageRecord,
    User,
    active_admins,
)
from chat.statistics.people import AccountState, list_accounts, load_people

from .owned_objects import ORIGIN, OwnedObjects

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse battery"


@pytest.fixture
def admin(server_mode, owner):
    owner.set_password(PASSWORD)
    owner.save()
    return owner


@pytest.fixture
def second(admin):
    """A second admin, who can log in."""
    user = ensure_owner("second")
    user.set_password(PASSWORD)
    user.save()
    return user


@pytest.fixture
def page(admin, logged_in):
    """The browser of the admin."""
    return logged_in(admin)


def do(page, user, what, **headers):
    return page.post(f"/people/{user.pk}/", {"do": what}, headers=headers)


class TestPage:
    def test_it_shows_numbers_and_no_contents(self, page, other, scripted):
        OwnedObjects.of(other, "Quillowax")
        text = page.get("/people/").content.decode()
        assert other.username in text
        assert "Quillowax" not in text

    def test_the_numbers_are_those_of_each_person(self, admin, other, scripted):
        now = timezone.now()
        for text in ("One", "Two"):
            message, _ = send_message(other, text)
        Message.objects.filter(pk=message.pk).update(created_at=now - timedelta(days=31))
        add_fact(other, "I love hiking")
        for age, seconds in ((0, 3.0), (2, 4.0), (31, 100.0)):
            record_call(other.pk, "reply", Lane.CHAT, Usage(seconds=seconds), "stop")
            newest = UsageRecord.objects.first()
            UsageRecord.objects.filter(pk=newest.pk).update(
                created_at=now - timedelta(days=age), seconds=seconds
            )
        mine, theirs = load_people([admin, other], now, now - timedelta(hours=1))
        assert (mine.conversations, mine.messages_month, mine.memories, mine.seconds_month) == (0, 0, 0, 0)
        assert (theirs.conversations, theirs.messages_month, theirs.memories) == (2, 1, 1)
        assert (theirs.seconds_today, theirs.seconds_month) == (3.0, 7.0)

    def test_it_takes_as_many_queries_for_a_hundred_people_as_for_two(self, page, other):
        def count() -> int:
            with CaptureQueriesContext(connection) as queries:
                assert page.get("/people/").status_code == 200
            return len(queries)

        # The first request notes when the session was used.
        count()
        few = count()
        User.objects.bulk_create(User(username=f"person {n}") for n in range(98))
        assert count() == few

    def test_a_hundred_people_are_on_a_page(self, page):
        User.objects.bulk_create(User(username=f"person {n:03}") for n in range(150))
        first, second = (page.get(f"/people/?page={n}").content.decode() for n in (1, 2))
        assert "person 000" in first
        assert "person 149" not in first
        assert "person 149" in second
        assert page.get("/people/?page=99999&x=%00").status_code == 200

    def test_states_are_told_apart(self, admin, other):
        waiting = people.sign_up("waiting", "!")
        people.deactivate(admin, other)
        found = load_people(list_accounts(), timezone.now(), timezone.now())
        states = {one.user.username: one.state for one in found}
        assert states == {
            "waiting": AccountState.WAITING,
            "owner": AccountState.ACTIVE,
            other.username: AccountState.DEACTIVATED,
        }
        assert found[0].user == waiting

    def test_the_account_of_local_mode_is_named_as_such(self, second, logged_in, owner):
        owner.set_unusable_password()
        owner.save()
        text = logged_in(second).get("/people/").content.decode()
        assert "the data of local mode; nobody can log in" in text

    def test_admins_are_led_there_and_members_are_not(self, page, other, logged_in):
        member = logged_in(other)
        for path in ("/", "/settings/"):
            assert 'href="/people/"' in page.get(path).content.decode()
            assert 'href="/people/"' not in member.get(path).content.decode()

    def test_staff_without_all_rights_are_members(self, other, server_mode, logged_in):
        other.is_staff = True
        other.save()
        assert logged_in(other).get("/people/").status_code == 404

    def test_there_is_no_such_page_in_local_mode(self, owner, ours):
        assert ours.get("/people/").status_code == 404
        assert do(ours, owner, "deactivate").status_code == 404
        assert 'href="/people/"' not in ours.get("/settings/").content.decode()


class TestActs:
    def test_a_deactivated_person_is_logged_out_and_keeps_the_data(self, page, other, logged_in):
        add_fact(other, "I love hiking")
        client = logged_in(other)
        secret = create_token(other, "program")
        assert do(page, other, "deactivate").url == "/people/"
        assert client.get("/memory/").status_code == 302
        assert ApiToken.objects.valid(secret) is None
        assert do(page, other, "reactivate").url == "/people/"
        # The former login does not live on; the token does.
        assert client.get("/memory/").status_code == 302
        assert ApiToken.objects.valid(secret) is not None
        assert "hiking" in logged_in(other).get("/memory/").content.decode()

    def test_roles_change_what_a_person_sees(self, page, other, logged_in):
        client = logged_in(other)
        do(page, other, "make_admin")
        assert client.get("/people/").status_code == 200
        assert client.get("/admin/").status_code == 200
        do(page, other, "make_member")
        assert client.get("/people/").status_code == 404
        assert client.get("/admin/").status_code == 302

    @pytest.mark.parametrize("what", ["deactivate", "make_member"])
    def test_the_last_admin_stays(self, page, admin, other, what):
        answer = do(page, admin, what, **{"hx-request": "true"})
        assert answer.status_code == 409
        assert "This is the last admin." in answer.content.decode()
        # An admin who cannot log in is no other one.
        inactive = User.objects.create(username="gone", is_staff=True, is_superuser=True, is_active=False)
        unusable = User.objects.create(username="no-password", is_staff=True, is_superuser=True, password="!")
        assert do(page, admin, what).url == "/people/"
        assert list(active_admins()) == [admin]
        assert {inactive.pk, unusable.pk}.isdisjoint(active_admins().values_list("pk", flat=True))

    def test_the_last_admin_stays_on_the_admin_site_too(self, page, admin, second):
        address = f"/admin/auth/user/{admin.pk}/change/"
        form = {"username": "owner", "date_joined_0": "2026-01-01", "date_joined_1": "10:00:00"}
        people.make_member(admin, second)
        assert page.post(address, form).status_code == 302
        admin.refresh_from_db()
        assert (admin.is_active, admin.is_staff, admin.is_superuser) == (True, True, True)

    def test_an_admin_who_gives_up_the_role_is_led_home(self, page, admin, second):
        assert do(page, admin, "make_member").url == "/"
        assert page.get("/people/").status_code == 404

    def test_two_admins_cannot_demote_each_other(self, admin, second):
        people.make_member(second, admin)
        with pytest.raises(Refused, match="This is the last admin"):
            people.make_member(admin, second)

    def test_a_waiting_account_is_neither_reactivated_nor_made_an_admin(self, admin):
        waiting = people.sign_up("waiting", "!")
        with pytest.raises(Refused, match="waits for approval"):
            people.reactivate(admin, waiting)
        with pytest.raises(Refused, match="is not active"):
            people.make_admin(admin, waiting)

    def test_each_act_is_recorded_and_shown(self, page, admin, other):
        for what in ("make_admin", "make_member", "deactivate", "reactivate"):
            do(page, other, what)
        assert [act.kind for act in AdminAct.objects.all()] == [
            "reactivated",
            "deactivated",
            "made_member",
            "made_admin",
        ]
        text = page.get("/people/").content.decode()
        assert f"owner made {other.username} an admin" in text
        assert f"owner deactivated {other.username}" in text

    def test_an_act_that_is_refused_is_not_recorded(self, page, admin, other):
        assert do(page, other, "reactivate", **{"hx-request": "true"}).status_code == 409
        assert do(page, other, "nonsense", **{"hx-request": "true"}).status_code == 422
        assert not AdminAct.objects.exists()

    def test_an_unknown_account_is_not_found(self, page, admin):
        assert page.post("/people/999999/", {"do": "deactivate"}).status_code == 404


class TestPasswordLink:
    def test_the_key_of_a_link_is_one_of_allauth(self, admin, other, monkeypatch):
        from allauth.account.forms import UserTokenForm
        from allauth.account.utils import user_pk_to_url_str

        named: dict[str, str] = {}

        def reverse(name, kwargs):
            named.update(kwargs, name=name)
            return "/a-page/"

        monkeypatch.setattr(people, "reverse", reverse)
        assert people.make_password_link(admin, other) == "/a-page/"
        assert named["name"] == "account_reset_password_from_key"
        assert named["uidb36"] == user_pk_to_url_str(other)
        form = UserTokenForm({"uidb36": named["uidb36"], "key": named["key"]})
        assert form.is_valid()
        other.set_password("another one of length")
        other.save()
        assert not UserTokenForm({"uidb36": named["uidb36"], "key": named["key"]}).is_valid()
        assert AdminAct.objects.get().kind == "password_link"

    def test_an_inactive_account_gets_none(self, admin, other):
        people.deactivate(admin, other)
        with pytest.raises(Refused, match="is not active"):
            people.make_password_link(admin, other)


@pytest.mark.django_db(transaction=True)
def test_two_admins_who_demote_each_other_at_once_leave_one(admin, second):
    def demote(pair: tuple[User, User]) -> str:
        try:
            people.make_member(*pair)
        except Refused as problem:
            return problem.code
        finally:
            connection.close()
        return "done"

    with ThreadPoolExecutor(2) as pool:
        outcomes = sorted(pool.map(demote, [(admin, second), (second, admin)]))
    assert outcomes == ["done", "last-admin"]
    assert active_admins().count() == 1


@pytest.mark.asyncio
@pytest.mark.django_db(transaction=True)
async def test_the_socket_of_a_deactivated_person_is_closed(admin, other, socket, logged_in):
    client = await sync_to_async(logged_in)(other)
    open_socket = socket(session=client.cookies["sessionid"].value)
    assert await open_socket.connect() is True
    page = await sync_to_async(logged_in)(admin)
    answer = await sync_to_async(page.post)(
        f"/people/{other.pk}/", {"do": "deactivate"}, headers={"origin": ORIGIN}
    )
    assert answer.status_code == 302
    assert await open_socket.wait_for_close(3.0) == 4401
