"""The report of a reply's prompt: as a page, in place under the reply, and as lines in the chat."""

from __future__ import annotations

import re

import pytest

from chat.actions.messages import finish_reply
from chat.generation import run as generation
from chat.models import Conversation, PromptReport

from .responses import text_of, triggered_events

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
    """Return a function that makes the report of that exchange."""

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


def visible_text(answer) -> str:
    return " ".join(text_of(answer).split())


def test_each_section_of_the_prompt_is_shown_with_its_tokens_and_a_bar(ours_htmx, report):
    page = visible_text(ours_htmx.get(f"/m/{report().pk}/prompt/"))
    for label, tokens, width in (
        ("Instructions", "75", "5.0"),
        ("Memory", "200", "13.3"),
        ("Earlier messages", "1,500", "100.0"),
        ("Memory for this message", "25", "1.7"),
        ("Your message", "40", "2.7"),
        ("Reserved for the reply", "819", "54.6"),
    ):
        bar = f'<rect height="4" width="{width}"/></svg><span>{tokens}<span class="sr-only"> tokens</span>'
        assert f"<dt>{label}</dt>" in page
        assert bar in page, label
    assert "<dt>Summary</dt>" not in page, "what is empty has no bar"
    assert "style=" not in page


def test_the_report_shows_the_fill_of_the_window_and_the_cached_tokens_and_the_time(ours_htmx, report):
    page = visible_text(ours_htmx.get(f"/m/{report().pk}/prompt/"))
    assert "The model read 1,840 tokens for this reply. Its window holds 4,096." in page
    assert 'role="meter" aria-valuemin="0" aria-valuemax="100" aria-valuenow="50"' in page
    assert "1,775 tokens were reused from the last prompt, 65 were read." in page
    assert "The first word came after 0.42 s." in page
    assert "Nothing was left out." in page


def test_a_reply_that_never_began_has_no_time_to_the_first_word(ours_htmx, report):
    page = visible_text(ours_htmx.get(f"/m/{report(first_token_ms=None, cached_tokens=0).pk}/prompt/"))
    assert "first word" not in page
    assert "0 tokens were reused from the last prompt, 1,840 were read." in page


@pytest.mark.parametrize(
    ("fields", "sentences"),
    [
        ({"cut_messages": 1, "stage": 1}, ["1 earlier message was left out."]),
        ({"cut_messages": 12, "stage": 1}, ["12 earlier messages were left out."]),
        ({"sections": {**SECTIONS, "summary": 90}}, ["Earlier messages were replaced by a summary."]),
        ({"stage": 2}, ["Memory was reduced to the most important facts."]),
        (
            {"stage": 3},
            ["Memory was reduced to the most important facts.", "The last messages were shortened."],
        ),
        ({"shortened": True}, ["Your message was longer than the window; its middle was left out."]),
    ],
)
def test_omitted_parts_are_reported_in_sentences(ours_htmx, report, fields, sentences):
    page = visible_text(ours_htmx.get(f"/m/{report(**fields).pk}/prompt/"))
    assert all(sentence in page for sentence in sentences)
    assert "Nothing was left out." not in page


def test_used_and_omitted_memories_link_to_their_cards(ours_htmx, report, make_fact):
    used, left, gone = make_fact("User likes tea"), make_fact("User likes jazz"), make_fact("User likes <b>")
    made = report(facts=[str(used.pk), str(gone.pk)], left_out=[str(left.pk)])
    gone.delete()
    page = visible_text(ours_htmx.get(f"/m/{made.pk}/prompt/"))
    before, after = page.split("Memories that did not fit")
    assert f'<a class="item row" href="/memory/#fact-{used.pk}" data-fact="{used.pk}">Likes tea</a>' in before
    assert f'<a class="item row" href="/memory/#fact-{left.pk}" data-fact="{left.pk}">Likes jazz</a>' in after
    assert "User likes &lt;b&gt;" not in page


def test_a_memory_of_another_user_is_not_shown(ours_htmx, report, make_fact, other):
    theirs = make_fact("A secret", owner=other)
    page = text_of(ours_htmx.get(f"/m/{report(facts=[str(theirs.pk)]).pk}/prompt/"))
    assert "A secret" not in page


def test_without_javascript_the_report_is_a_page_that_links_back_to_the_reply(ours, report, exchange):
    _, reply = exchange
    page = text_of(ours.get(f"/m/{report().pk}/prompt/"))
    assert "<title>Prompt of a reply" in page
    assert f'href="/c/{reply.conversation_id}/?m={reply.pk}#m-{reply.pk}"' in page


def test_only_replies_with_a_report_link_to_it(ours, report, exchange):
    asked, reply = exchange
    page = f"/c/{asked.conversation_id}/"
    assert "/prompt/" not in text_of(ours.get(page))
    report()
    shown = text_of(ours.get(page))
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
def test_a_line_in_the_chat_marks_where_earlier_messages_were_omitted(ours, report, exchange, fields, line):
    report(**fields)
    page = text_of(ours.get(f"/c/{exchange[0].conversation_id}/"))
    assert ('class="divider row"' in page) is (line is not None)
    assert f'<p class="divider row">Earlier messages {line}</p>' in page or line is None


def test_only_a_shortened_message_is_marked_as_shortened(ours, report, exchange):
    page = f"/c/{exchange[0].conversation_id}/"
    made = report()
    assert SHORTENED not in text_of(ours.get(page))
    PromptReport.objects.filter(pk=made.pk).update(shortened=True)
    assert SHORTENED in text_of(ours.get(page))


class TestStrategy:
    """The compaction strategy, chosen in the menu of the conversation."""

    @pytest.fixture
    def chat(self, exchange) -> Conversation:
        return exchange[0].conversation

    def test_the_menu_offers_the_default_of_the_app_and_four_strategies(self, ours, chat):
        menu = visible_text(ours.get(f"/c/{chat.pk}/"))
        assert menu.count("<option") == 5
        assert '<option value="">as set in the app</option>' in menu
        assert "In General: summary, marked and newest messages." in menu

    def test_choosing_by_form_leads_back_to_the_conversation(self, ours, chat):
        answer = ours.post(f"/c/{chat.pk}/strategy/", {"strategy": "topics"}, follow=True)
        assert '<option value="topics" selected>by topic</option>' in visible_text(answer)
        chat.refresh_from_db()
        assert chat.effective_strategy == "topics"

    def test_choosing_by_htmx_reports_the_change(self, ours_htmx, chat):
        answer = ours_htmx.post(f"/c/{chat.pk}/strategy/", {"strategy": "simple"})
        assert (answer.status_code, list(triggered_events(answer))) == (204, ["chat-changed"])

    def test_the_default_of_the_app_can_be_chosen_again(self, ours, chat):
        Conversation.objects.update(strategy="simple")
        ours.post(f"/c/{chat.pk}/strategy/", {"strategy": ""})
        chat.refresh_from_db()
        assert chat.strategy == ""

    def test_an_unknown_strategy_is_refused_and_changes_nothing(self, ours_htmx, chat):
        assert ours_htmx.post(f"/c/{chat.pk}/strategy/", {"strategy": "best"}).status_code == 422
        chat.refresh_from_db()
        assert chat.strategy == ""

    def test_a_new_strategy_discards_the_prepared_prompt(self, ours, chat):
        Conversation.objects.update(prepared={"summary": "old"})
        ours.post(f"/c/{chat.pk}/strategy/", {"strategy": "simple"})
        chat.refresh_from_db()
        assert chat.prepared is None


@pytest.mark.django_db(transaction=True)
def test_a_compacted_chat_shows_where_messages_were_omitted(ours, ours_htmx, scripted, owner):
    scripted.context_window = 600
    back = "/"
    for i in range(8):
        given = {"conversation": back.split("/")[2]} if i else {}
        back = ours.post("/send/", {"text": f"Question {i}: {'why? ' * 40}", **given}).url
        generation.wait_all()
    page = text_of(ours.get(back))
    made = PromptReport.objects.filter(stage__gt=0).order_by("reply__seq").first()
    assert page.count('<p class="divider row">Earlier messages were left out</p>') == (
        PromptReport.objects.filter(stage__gt=0, cut_messages__gt=0).count()
    )
    assert page.index('<p class="divider row">') > page.index(f'id="m-{made.pk}"')
    said = visible_text(ours_htmx.get(f"/m/{made.pk}/prompt/"))
    assert f"{made.cut_messages} earlier message" in said
    shares = [int(share) for share in re.findall(r'data-share="(\d+)"', page)]
    assert len(shares) == 8
    assert max(shares) <= 100
