"""Every text of the interface goes through the translation functions.

The tests translate into a language that puts marks around each message: words without marks are untranslated.
"""

from __future__ import annotations

import re
from gettext import GNUTranslations

import pytest
from django.test import Client
from django.utils import timezone
from django.utils.translation.trans_real import CONTEXT_SEPARATOR, DjangoTranslation

from chat.actions import deletions, facts
from chat.actions.messages import finish_reply, send_message
from chat.actions.topics import assign_topic
from chat.errors import Reason
from chat.llm.model_status import ModelState, ModelStatus
from chat.llm.registry import registry
from chat.models import Conversation, ExtractionRun, Fact, MemoryMode, PromptReport, Topic

from .untranslated_text import CLOSE, OPEN, untranslated_words

pytestmark = pytest.mark.django_db


def mark(text: str) -> str:
    """Return a message as translated: with marks around it."""
    return f"{OPEN}{text.rpartition(CONTEXT_SEPARATOR)[2]}{CLOSE}" if text.strip() else text


@pytest.fixture(autouse=True)
def _marks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Translate every message by putting marks around it."""
    monkeypatch.setattr(DjangoTranslation, "gettext", lambda self, message: mark(message))
    monkeypatch.setattr(
        DjangoTranslation,
        "ngettext",
        lambda self, one, many, n: mark(one if n == 1 else many),
    )
    assert issubclass(DjangoTranslation, GNUTranslations)


@pytest.fixture
def rich_conversation(owner, make_fact, scripted) -> Conversation:
    """A conversation and facts that show every state; their own texts are Greek."""
    registry.use(scripted, label="Μοντέλο")
    asked, reply = send_message(owner, "Καλημέρα σε όλους")
    assign_topic(asked, None, "Κήπος")
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
        refused=[{"text": "Ίσως", "reason": "is-hedged"}],
    )  # fmt: skip
    for state, failure in (("stopped", "stopped-by-user"), ("failed", "model-still-loading")):
        _, again = send_message(owner, "Πες μου", asked.conversation)
        finish_reply(again, "Ναι", state, failure)
    Topic.objects.create(conversation=asked.conversation, title="Θέμα", retired_at=timezone.now())
    deletions.forget_facts(owner, [make_fact("Ξέχασέ το").pk])
    return asked.conversation


def page_addresses(chat: Conversation) -> list[str]:
    """Return the addresses of all pages and fragments."""
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


def untranslated_on(client: Client, address: str) -> list[str]:
    answer = client.get(address, follow=True)
    return untranslated_words(answer.content.decode())


@pytest.mark.parametrize("htmx", [False, True], ids=["pages", "fragments"])
def test_every_word_on_the_pages_is_translated(ours, ours_htmx, rich_conversation, htmx):
    client = ours_htmx if htmx else ours
    left = {
        address: found
        for address in page_addresses(rich_conversation)
        if (found := untranslated_on(client, address))
    }
    assert left == {}


@pytest.mark.parametrize("mode", MemoryMode.values)
def test_every_word_is_translated_in_an_ended_chat(ours, rich_conversation, mode):
    Conversation.objects.update(ended_at=timezone.now(), memory_mode=mode)
    assert untranslated_on(ours, f"/c/{rich_conversation.pk}/") == []


def test_every_word_is_translated_on_the_first_run(ours, db):
    assert [
        untranslated_on(ours, address) for address in ("/", "/memory/", "/memory/graph/", "/settings/")
    ] == [[]] * 4


@pytest.mark.parametrize("state", list(ModelState))
def test_every_word_is_translated_for_each_state_of_the_model(ours, db, state):
    registry.set_status(ModelStatus(state, "m", "Μοντέλο", Reason("model-still-loading"), "manage.py doctor"))
    assert untranslated_on(ours, "/") == []
    assert untranslated_on(ours, "/settings/") == []


def test_every_word_is_translated_on_error_pages_and_the_login(ours, server_mode, db):
    client = Client(headers={"origin": "http://testserver"})
    assert untranslated_words(client.get("/login/").content.decode()) == []
    wrong = client.post("/login/", {"username": "a", "password": "b"})
    assert untranslated_words(wrong.content.decode()) == []
    server_mode.MODE = "local"
    assert untranslated_words(ours.get("/nowhere/").content.decode()) == []


@pytest.mark.parametrize("template", ["400.html", "403.html", "403_csrf.html", "500.html"])
def test_every_word_is_translated_in_the_error_templates(template):
    from django.template.loader import render_to_string

    assert untranslated_words(render_to_string(template)) == []


def test_every_word_is_translated_in_refusals_of_forms(ours, rich_conversation):
    for address, data in (
        ("/send/", {"text": ""}),
        ("/memory/add/", {"text": "?"}),
        ("/settings/", {"theme": "pink"}),
        ("/settings/", {"look_after": "1"}),
    ):
        page = ours.post(address, data, follow=True).content.decode()
        assert re.search("data-notice|class=.error", page), address
        assert untranslated_words(page) == [], address
