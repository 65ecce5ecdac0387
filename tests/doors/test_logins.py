"""Server mode: logging in and out, and what belongs to the logged-in user."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from chat.models import Fact

from .owned_objects import ORIGIN


@pytest.mark.django_db
def test_a_new_fact_belongs_to_the_logged_in_user(things, owner, other, logged_in):
    logged_in(other).post(reverse("fact_add"), {"text": "I am somebody else"}, headers={"origin": ORIGIN})
    assert Fact.objects.for_owner(other).get().text == "I am somebody else"


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
