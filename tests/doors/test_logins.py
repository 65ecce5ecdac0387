"""Server mode: pages show only the data of the logged-in user, and without login only the login page."""

from __future__ import annotations

import pytest
from asgiref.sync import sync_to_async
from django.test import Client
from django.urls import reverse

from chat.models import Fact

from .owned_objects import ORIGIN, OWN_DATA_URLS, URLS_WITHOUT_CONTENT, OwnedObjects


@pytest.mark.django_db
@pytest.mark.parametrize("name", sorted(OWN_DATA_URLS - URLS_WITHOUT_CONTENT))
def test_pages_show_only_data_of_the_logged_in_user(things, owner, other, logged_in, name):
    OwnedObjects.of(other, "of somebody else")
    page = logged_in(other).get(reverse(name)).content.decode()
    assert "of the owner" not in page
    mine = logged_in(owner).get(reverse(name)).content.decode()
    assert "of somebody else" not in mine
    if name != "memory_pill":
        assert "of the owner" in mine


@pytest.mark.django_db
@pytest.mark.parametrize("name", sorted(OWN_DATA_URLS))
def test_without_login_every_page_leads_to_the_login(things, name):
    answer = Client().get(reverse(name))
    assert answer.status_code == 302
    assert answer.url.startswith("/login/")


@pytest.mark.django_db
def test_a_new_fact_belongs_to_the_logged_in_user(things, owner, other, logged_in):
    logged_in(other).post(reverse("fact_add"), {"text": "I am somebody else"}, headers={"origin": ORIGIN})
    assert Fact.objects.for_owner(other).get().text == "I am somebody else"


@pytest.mark.django_db
def test_the_admin_site_is_closed_to_users_who_are_not_staff(server_mode, other, logged_in):
    assert logged_in(other).get("/admin/chat/fact/").status_code == 302


@pytest.mark.django_db
def test_the_data_folder_is_shown_only_to_staff(server_mode, other, logged_in, settings):
    client = logged_in(other)
    assert str(settings.DATA_DIR) not in client.get("/").content.decode()
    other.is_staff = True
    other.save()
    assert str(settings.DATA_DIR) in client.get("/").content.decode()


@pytest.mark.django_db
def test_logging_in_and_out_works_in_server_mode(server_mode, other):
    other.set_password("correct horse battery")
    other.save()
    client = Client(headers={"origin": ORIGIN})
    answer = client.post("/login/", {"login": other.username, "password": "correct horse battery"})
    assert answer.status_code == 302
    assert client.get("/memory/").status_code == 200
    assert client.post("/logout/").status_code == 302
    assert client.get("/memory/").status_code == 302


@pytest.mark.asyncio
@pytest.mark.django_db(transaction=True)
class TestSocket:
    """The same rules for sockets."""

    async def test_the_owner_may_connect_to_their_conversation(self, socket, things, owner, logged_in):
        client = await sync_to_async(logged_in)(owner)
        page = socket(things.conversation.pk, session=client.cookies["sessionid"].value)
        assert await page.connect() is True

    async def test_another_user_cannot_connect_to_the_conversation(self, socket, things, other, logged_in):
        client = await sync_to_async(logged_in)(other)
        page = socket(things.conversation.pk, session=client.cookies["sessionid"].value)
        assert await page.connect() == 4404

    @pytest.mark.parametrize("session", ["", "forged"])
    async def test_without_login_no_socket_is_accepted(self, socket, things, session):
        assert await socket(things.conversation.pk, session=session).connect() == 4401
        assert await socket(session=session).connect() == 4401
