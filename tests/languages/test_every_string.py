"""Every word of the interface goes through the translation functions: in a language that marks all of them,
nothing is left without a mark but what people wrote themselves."""

from __future__ import annotations

import re
from gettext import GNUTranslations

import pytest
from django.test import Client
from django.utils import timezone
from django.utils.translation.trans_real import CONTEXT_SEPARATOR, DjangoTranslation

from chat.actions import deletions, facts
from chat.actions.messages import finish_reply, send_message
from chat.actions.topics import assign
from chat.llm.registry import registry
from chat.llm.state import ModelState, Status
from chat.models import Conversation, ExtractionRun, Fact, MemoryMode, PromptReport, Topic

from .visible import CLOSE, OPEN, untranslated

pytestmark = pytest.mark.django_db


def mark(text: str) -> str:
    """Return a message as the language of marks says it."""
    return f"{OPEN}{text.rpartition(CONTEXT_SEPARATOR)[2]}{CLOSE}" if text.strip() else text


@pytest.fixture(autouse=True)
def _marks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Speak a language in which every translated message stands between marks."""
    monkeypatch.setattr(DjangoTranslation, "gettext", lambda self, message: mark(message))
    monkeypatch.setattr(
        DjangoTranslation,
        "ngettext",
        lambda self, one, many, n: mark(one if n == 1 else many),
    )
    assert issubclass(DjangoTranslation, GNUTranslations)


@pytest.fixture
def lived_in(owner, make_fact, scripted) -> Conversation:
    """A memory and a conversation in which all that can be shown has happened; its own words are Greek."""
    registry.use(scripted, label="Μοντέλο")
    asked, reply = send_message(owner, "Καλημέρα σε όλους")
    assign(asked, None, "Κήπος")
    fact = facts.add_fact(owner, "Μένω στη Λυών")
    Fact.objects.filter(pk=fact.pk).update(source_message=asked, source_conversation=asked.conversation)
    old = facts.edit_fact(facts.add_fact(owner, "Μου αρέσει το τσάι"), "Μου αρέσει ο καφές")
    facts.pin_fact(old, True) if hasattr(facts, "pin_fact") else None
    make_fact("Παλιό", archived_at=timezone.now())
    finish_reply(reply, "Χαίρετε", "complete")
    PromptReport.objects.create(
        reply=reply, window=2048, prompt_tokens=1900, facts=[str(fact.pk)], left_out=[str(old.pk)], stage=2,
        cut_messages=3, shortened=True, sections={"persona": 90, "summary": 40, "history": 900},
    )  # fmt: skip
    ExtractionRun.objects.create(
        message=asked, read=True, stored=1, reinforced=2, ended=1, seconds=1.0,
        refused=[{"text": "Ίσως", "reason": "the user was not sure"}],
    )  # fmt: skip
    for state, failure in (("stopped", "You stopped this reply."), ("failed", "The model is still loading.")):
        _, again = send_message(owner, "Πες μου", asked.conversation)
        finish_reply(again, "Ναι", state, failure)
    Topic.objects.create(conversation=asked.conversation, title="Θέμα", retired_at=timezone.now())
    deletions.forget(owner, [make_fact("Ξέχασέ το").pk])
    return asked.conversation


def pages(chat: Conversation) -> list[str]:
    """Return every page and fragment that shows something."""
    reply = chat.messages.filter(role="assistant").first()
    fact = Fact.objects.live().filter(source_message__isnull=False).first()
    assert reply is not None
    assert fact is not None
    of_the_chat = [f"/c/{chat.pk}/{part}" for part in ("", "care/", "topics/", "after/0/")]
    of_the_reply = [f"/m/{reply.pk}/{part}" for part in ("", "used/", "prompt/")]
    of_the_fact = [f"/memory/{fact.pk}/{part}" for part in ("", "edit/", "origin/")]
    memory = [
        f"/memory/{part}"
        for part in ("", "?tab=pinned", "?q=zzzz", "clear/", "archive/", "health/", "graph/")
    ]
    return [
        "/",
        "/settings/",
        "/search/?q=Καλημέρα",
        "/search/?q=zzzz",
        *of_the_chat,
        *of_the_reply,
        *of_the_fact,
        *memory,
    ]


def shown(client: Client, address: str) -> list[str]:
    answer = client.get(address, follow=True)
    return untranslated(answer.content.decode())


@pytest.mark.parametrize("htmx", [False, True], ids=["pages", "fragments"])
def test_no_word_is_left_untranslated(ours, ours_htmx, lived_in, htmx):
    client = ours_htmx if htmx else ours
    left = {address: found for address in pages(lived_in) if (found := shown(client, address))}
    assert left == {}


@pytest.mark.parametrize("mode", MemoryMode.values)
def test_nor_in_a_chat_that_has_ended(ours, lived_in, mode):
    Conversation.objects.update(ended_at=timezone.now(), memory_mode=mode)
    assert shown(ours, f"/c/{lived_in.pk}/") == []


def test_nor_on_the_first_run(ours, db):
    assert [shown(ours, address) for address in ("/", "/memory/", "/memory/graph/", "/settings/")] == [[]] * 4


@pytest.mark.parametrize("state", list(ModelState))
def test_nor_where_the_model_is_not_ready(ours, db, state):
    registry._set(Status(state, "m", "Μοντέλο", "The model is still loading.", "manage.py doctor"))
    assert shown(ours, "/") == []
    assert shown(ours, "/settings/") == []


def test_nor_on_error_pages_and_the_login(ours, server_mode, db):
    client = Client(headers={"origin": "http://testserver"})
    assert untranslated(client.get("/login/").content.decode()) == []
    wrong = client.post("/login/", {"username": "a", "password": "b"})
    assert untranslated(wrong.content.decode()) == []
    server_mode.MODE = "local"
    assert untranslated(ours.get("/nowhere/").content.decode()) == []


@pytest.mark.parametrize("template", ["400.html", "403.html", "403_csrf.html", "500.html"])
def test_nor_on_pages_of_trouble(template):
    from django.template.loader import render_to_string

    assert untranslated(render_to_string(template)) == []


def test_nor_in_what_a_refused_form_says(ours, lived_in):
    for address, data in (
        ("/send/", {"text": ""}),
        ("/memory/add/", {"text": "?"}),
        ("/settings/", {"theme": "pink"}),
        ("/settings/", {"look_after": "1"}),
    ):
        page = ours.post(address, data, follow=True).content.decode()
        assert re.search("data-notice|class=.error", page), address
        assert untranslated(page) == [], address
