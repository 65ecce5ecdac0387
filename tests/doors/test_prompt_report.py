"""What a reply was made of: on a page of its own, in place, and as lines in the chat."""

from __future__ import annotations

import re

import pytest

from chat.actions.messages import finish_reply
from chat.generation import run as generation
from chat.models import Conversation, PromptReport

from .answers import text, triggers

pytestmark = pytest.mark.django_db

SECTIONS = {"persona": 75, "memory": 200, "summary": 0, "history": 1500, "note": 25, "message": 40}
SHORTENED = "This message was longer than the window; its middle was left out."


@pytest.fixture
def exchange(talk):
    """A finished exchange without a report."""
    asked, reply = talk("How long is the Rhine?")
    finish_reply(reply, "About 1,230 kilometres.", "complete")
    return asked, reply


@pytest.fixture
def report(exchange):
    """Returns a maker of the report of that exchange."""

    def make(**fields) -> PromptReport:
        values = {
            "sections": SECTIONS,
            "prompt_tokens": 1840,
            "cached_tokens": 1775,
            "completion_tokens": 208,
            "window": 4096,
            "first_token_ms": 420,
        }
        return PromptReport.objects.create(reply=exchange[1], **{**values, **fields})

    return make


def words(answer) -> str:
    return " ".join(text(answer).split())


def test_each_part_of_the_prompt_is_named_with_its_tokens_and_drawn(ours_htmx, report):
    page = words(ours_htmx.get(f"/m/{report().pk}/prompt/"))
    for label, tokens, width in (
        ("Instructions", "75", "5.0"),
        ("Memory", "200", "13.3"),
        ("Earlier messages", "1,500", "100.0"),
        ("Memory for this message", "25", "1.7"),
        ("Your message", "40", "2.7"),
        ("Kept free for the reply", "819", "54.6"),
    ):
        bar = f'<rect height="4" width="{width}"/></svg><span>{tokens}<span class="sr"> tokens</span>'
        assert f"<dt>{label}</dt>" in page
        assert bar in page, label
    assert "<dt>Summary</dt>" not in page, "what is empty has no bar"
    assert "style=" not in page


def test_it_says_how_full_the_window_is_what_was_read_and_how_fast(ours_htmx, report):
    page = words(ours_htmx.get(f"/m/{report().pk}/prompt/"))
    assert "The model read 1,840 tokens for this reply. Its window holds 4,096." in page
    assert 'role="meter" aria-valuemin="0" aria-valuemax="100" aria-valuenow="50"' in page
    assert "1,775 tokens were known from the last prompt, 65 were read anew." in page
    assert "The first word came after 0.42 s." in page
    assert "Nothing was left out." in page


def test_a_reply_that_never_began_has_no_first_word(ours_htmx, report):
    page = words(ours_htmx.get(f"/m/{report(first_token_ms=None, cached_tokens=0).pk}/prompt/"))
    assert "first word" not in page
    assert "0 tokens were known from the last prompt, 1,840 were read anew." in page


@pytest.mark.parametrize(
    ("fields", "sentences"),
    [
        ({"cut_messages": 1, "stage": 1}, ["1 earlier message was left out."]),
        ({"cut_messages": 12, "stage": 1}, ["12 earlier messages were left out."]),
        ({"sections": {**SECTIONS, "summary": 90}}, ["A summary stands in the place of earlier messages."]),
        ({"stage": 2}, ["Memory was reduced to what matters most."]),
        ({"stage": 3}, ["Memory was reduced to what matters most.", "The last messages were shortened."]),
        ({"shortened": True}, ["Your message was longer than the window; its middle was left out."]),
    ],
)
def test_what_did_not_go_to_the_model_is_said_in_sentences(ours_htmx, report, fields, sentences):
    page = words(ours_htmx.get(f"/m/{report(**fields).pk}/prompt/"))
    assert all(sentence in page for sentence in sentences)
    assert "Nothing was left out." not in page


def test_memories_used_and_without_room_lead_to_their_cards(ours_htmx, report, make_fact):
    used, left, gone = make_fact("User likes tea"), make_fact("User likes jazz"), make_fact("User likes <b>")
    made = report(facts=[str(used.pk), str(gone.pk)], left_out=[str(left.pk)])
    gone.delete()
    page = words(ours_htmx.get(f"/m/{made.pk}/prompt/"))
    before, after = page.split("Memories without room")
    assert f'<a class="item row" href="/memory/#fact-{used.pk}" data-fact="{used.pk}">Likes tea</a>' in before
    assert f'<a class="item row" href="/memory/#fact-{left.pk}" data-fact="{left.pk}">Likes jazz</a>' in after
    assert "User likes &lt;b&gt;" not in page


def test_another_owners_memory_is_not_told_even_where_its_id_stands_in_a_report(
    ours_htmx, report, make_fact, other
):
    theirs = make_fact("A secret", owner=other)
    page = text(ours_htmx.get(f"/m/{report(facts=[str(theirs.pk)]).pk}/prompt/"))
    assert "A secret" not in page


def test_without_javascript_it_is_a_page_that_leads_back_to_the_reply(ours, report, exchange):
    _, reply = exchange
    page = text(ours.get(f"/m/{report().pk}/prompt/"))
    assert "<title>What a reply was made of" in page
    assert f'href="/c/{reply.conversation_id}/?m={reply.pk}#m-{reply.pk}"' in page


def test_each_reply_with_a_report_leads_to_it_and_no_other_message_does(ours, report, exchange):
    asked, reply = exchange
    page = f"/c/{asked.conversation_id}/"
    assert "/prompt/" not in text(ours.get(page))
    report()
    shown = text(ours.get(page))
    assert f'hx-get="/m/{reply.pk}/prompt/"' in shown
    assert f"/m/{asked.pk}/prompt/" not in shown


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"stage": 1, "cut_messages": 4, "sections": {**SECTIONS, "summary": 90}}, "were summarised"),
        ({"stage": 1, "cut_messages": 4}, "were left out"),
        ({"stage": 0, "cut_messages": 4}, None),
        ({"stage": 2, "cut_messages": 0}, None),
    ],
    ids=["summarised", "left out", "compacted earlier", "nothing cut"],
)
def test_a_line_in_the_chat_marks_where_earlier_messages_went(ours, report, exchange, fields, line):
    report(**fields)
    page = text(ours.get(f"/c/{exchange[0].conversation_id}/"))
    assert ('class="cut row"' in page) is (line is not None)
    assert f'<p class="cut row">Earlier messages {line}</p>' in page or line is None


def test_a_message_that_was_shortened_says_so_and_no_other(ours, report, exchange):
    page = f"/c/{exchange[0].conversation_id}/"
    made = report()
    assert SHORTENED not in text(ours.get(page))
    PromptReport.objects.filter(pk=made.pk).update(shortened=True)
    assert SHORTENED in text(ours.get(page))


class TestStrategy:
    """What a conversation keeps when it outgrows the window, chosen in its menu."""

    @pytest.fixture
    def chat(self, exchange) -> Conversation:
        return exchange[0].conversation

    def test_the_menu_offers_the_apps_and_the_four(self, ours, chat):
        menu = words(ours.get(f"/c/{chat.pk}/"))
        assert menu.count("<option") == 5
        assert '<option value="">as the app has it</option>' in menu
        assert "In General: summary, marked and newest messages." in menu

    def test_as_a_form_it_leads_back_to_the_conversation_and_is_chosen(self, ours, chat):
        answer = ours.post(f"/c/{chat.pk}/strategy/", {"strategy": "topics"}, follow=True)
        assert '<option value="topics" selected>by topic</option>' in words(answer)
        chat.refresh_from_db()
        assert chat.manner == "topics"

    def test_in_place_the_page_is_told(self, ours_htmx, chat):
        answer = ours_htmx.post(f"/c/{chat.pk}/strategy/", {"strategy": "simple"})
        assert (answer.status_code, list(triggers(answer))) == (204, ["chat-changed"])

    def test_the_apps_can_be_chosen_again(self, ours, chat):
        Conversation.objects.update(strategy="simple")
        ours.post(f"/c/{chat.pk}/strategy/", {"strategy": ""})
        chat.refresh_from_db()
        assert chat.strategy == ""

    def test_another_word_is_refused_and_changes_nothing(self, ours_htmx, chat):
        assert ours_htmx.post(f"/c/{chat.pk}/strategy/", {"strategy": "best"}).status_code == 422
        chat.refresh_from_db()
        assert chat.strategy == ""

    def test_what_was_prepared_for_another_strategy_is_dropped(self, ours, chat):
        Conversation.objects.update(prepared={"summary": "old"})
        ours.post(f"/c/{chat.pk}/strategy/", {"strategy": "simple"})
        chat.refresh_from_db()
        assert chat.prepared is None


@pytest.mark.django_db(transaction=True)
def test_a_chat_that_outgrows_its_window_says_where_it_was_compacted(ours, ours_htmx, scripted, owner):
    scripted.context_window = 600
    back = "/"
    for i in range(8):
        given = {"conversation": back.split("/")[2]} if i else {}
        back = ours.post("/send/", {"text": f"Question {i}: {'why? ' * 40}", **given}).url
        generation.wait()
    page = text(ours.get(back))
    made = PromptReport.objects.filter(stage__gt=0).order_by("reply__seq").first()
    assert page.count('<p class="cut row">Earlier messages were left out</p>') == (
        PromptReport.objects.filter(stage__gt=0, cut_messages__gt=0).count()
    )
    assert page.index('<p class="cut row">') > page.index(f'id="m-{made.pk}"')
    said = words(ours_htmx.get(f"/m/{made.pk}/prompt/"))
    assert f"{made.cut_messages} earlier message" in said
    shares = [int(share) for share in re.findall(r'data-share="(\d+)"', page)]
    assert len(shares) == 8
    assert max(shares) <= 100
