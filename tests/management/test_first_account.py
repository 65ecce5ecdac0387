"""The first account in the terminal: `createowner`, and what a start says while nobody can log in."""

from __future__ import annotations

import io
import os

import pytest
from django.core.management import CommandError, call_command

from chat.actions import first_account
from chat.actions.facts import add_fact
from chat.actions.owners import local_owner
from chat.management.first_link import describe_other_accounts, print_first_link
from chat.models import Fact, FirstLink, User
from memoryapp.bootstrap.cli import describe_commands

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse battery"


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def create_owner(*arguments: str, password: str = PASSWORD) -> str:
    """Run `createowner` with a password from a descriptor; return what it printed."""
    out = io.StringIO()
    reading, writing = os.pipe()
    try:
        os.write(writing, f"{password}\n".encode())
        os.close(writing)
        call_command("createowner", *arguments, f"--password-fd={reading}", stdout=out)
    finally:
        os.close(reading)
    return out.getvalue()


class TestCreateOwner:
    def test_it_makes_an_admin_with_this_password(self, server_mode):
        assert "ann can log in now, as an admin." in create_owner("ann")
        ann = User.objects.get()
        assert (ann.username, ann.is_staff, ann.is_superuser) == ("ann", True, True)
        assert ann.check_password(PASSWORD)

    def test_it_is_refused_where_an_admin_can_log_in(self, server_mode):
        create_owner("ann")
        with pytest.raises(CommandError, match="There is an admin account already"):
            create_owner("bob")
        assert User.objects.count() == 1

    def test_it_is_for_server_mode(self, settings):
        with pytest.raises(CommandError, match="Set MODE=server"):
            create_owner("ann")

    def test_adopt_gives_the_data_of_local_mode_to_the_account(self, server_mode, owner):
        add_fact(owner, "I love hiking")
        said = create_owner("ann", "--adopt")
        assert "the chats (0) and memories (1) of local mode" in said
        assert "Local mode goes on with this account as long as it is the only one" in said
        owner.refresh_from_db()
        assert (owner.username, owner.check_password(PASSWORD)) == ("ann", True)
        assert Fact.objects.for_owner(owner).count() == 1
        server_mode.MODE = "local"
        assert local_owner() == owner
        assert describe_other_accounts() == ""

    def test_the_name_of_local_mode_can_be_kept_with_its_data(self, server_mode, owner):
        add_fact(owner, "I love hiking")
        with pytest.raises(CommandError, match="reserved"):
            create_owner("owner")
        create_owner("owner", "--adopt")
        assert User.objects.get().check_password(PASSWORD)

    def test_without_adopt_it_says_how_to_take_the_data_over(self, server_mode, owner):
        add_fact(owner, "I love hiking")
        assert "add --adopt" in create_owner("ann")
        assert Fact.objects.for_owner(User.objects.get(username="owner")).exists()

    def test_adopt_without_data_is_refused(self, server_mode, owner):
        with pytest.raises(CommandError, match="Leave --adopt out"):
            create_owner("ann", "--adopt")

    @pytest.mark.parametrize("password", ["", "short", "password1", "1234567890"])
    def test_a_weak_password_makes_nothing(self, server_mode, password):
        with pytest.raises(CommandError, match="password"):
            create_owner("ann", password=password)
        assert not User.objects.exists()

    @pytest.mark.parametrize("name", ["", "a b", "x" * 151, "Owner"])
    def test_a_name_that_no_account_can_have_makes_nothing(self, server_mode, name):
        with pytest.raises(CommandError):
            create_owner(name)
        assert not User.objects.exists()

    def test_a_taken_name_makes_nothing(self, server_mode, other):
        with pytest.raises(CommandError, match="Somebody has this name already"):
            create_owner(other.username.upper())
        assert User.objects.count() == 1

    def test_without_a_terminal_and_a_descriptor_it_says_what_is_missing(self, server_mode, monkeypatch):
        monkeypatch.setattr("sys.stdin", io.StringIO())
        with pytest.raises(CommandError, match="--password-fd"):
            call_command("createowner", "ann")

    def test_in_a_terminal_it_asks_twice(self, server_mode, monkeypatch):
        given = iter([PASSWORD, "something else", PASSWORD, PASSWORD])
        monkeypatch.setattr("sys.stdin", Terminal())
        monkeypatch.setattr("getpass.getpass", lambda prompt: next(given))
        with pytest.raises(CommandError, match="differ"):
            call_command("createowner", "ann")
        assert not User.objects.exists()
        call_command("createowner", "ann", stdout=io.StringIO())
        assert User.objects.get().check_password(PASSWORD)

    def test_a_descriptor_that_is_not_open_is_told(self, server_mode):
        with pytest.raises(CommandError, match="No password can be read from descriptor 999"):
            call_command("createowner", "ann", "--password-fd=999")

    def test_it_is_in_the_list_of_commands(self):
        assert "createowner" in describe_commands()


class TestStart:
    def start(self, out: io.StringIO) -> str:
        print_first_link(out, "http://127.0.0.1:8000/")
        return out.getvalue()

    def test_it_prints_a_link_that_is_valid(self, server_mode):
        server_mode.SECURE_SSL_REDIRECT = True
        server_mode.ALLOWED_HOSTS = ["chat.example.org", "other.example.org"]
        said = self.start(Terminal())
        secret = said.split("https://chat.example.org/first/")[1].split("/")[0]
        assert first_account.is_first_link_valid(secret)
        later = self.start(Terminal())
        assert not first_account.is_first_link_valid(secret)
        assert secret not in later

    @pytest.mark.parametrize(
        ("hosts", "has_tls", "expected"),
        [
            ([".example.org"], True, "https://example.org/first/"),
            (["*"], True, "http://127.0.0.1:8000/first/"),
            (["example.org"], False, "http://127.0.0.1:8000/first/"),
        ],
    )
    def test_the_host_is_one_that_can_be_opened(self, server_mode, hosts, has_tls, expected):
        server_mode.ALLOWED_HOSTS, server_mode.SECURE_SSL_REDIRECT = hosts, has_tls
        assert expected in self.start(Terminal())

    def test_it_writes_no_link_into_what_may_be_a_log_file(self, server_mode):
        said = self.start(io.StringIO())
        assert "python3 manage.py createowner NAME" in said
        assert "/first/" not in said
        assert not FirstLink.objects.exists()

    def test_it_prints_none_where_an_admin_can_log_in(self, server_mode, owner):
        owner.set_password(PASSWORD)
        owner.save()
        assert self.start(Terminal()) == ""

    def test_it_prints_none_in_local_mode(self, owner):
        assert self.start(Terminal()) == ""

    def test_local_mode_says_that_other_accounts_have_data_here(self, owner, other):
        said = describe_other_accounts()
        assert "asks nobody who they are: 1. Start with MODE=server" in said
