"""The worked examples of the design for the memory system: facts, prompt, limits, and the panel."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from uuid import UUID

import pytest
from django.utils import timezone
from django.utils.html import strip_tags

from chat.actions.decay import apply_decay
from chat.actions.messages import add_message
from chat.actions.owners import default_app
from chat.context.budget import memory_budget, must_compact, reply_reserve
from chat.models import Conversation, Fact, Job, Message
from tests.doors.responses import text_of, triggered_events
from tests.jobs.run_extraction import run_extraction_jobs

pytestmark = pytest.mark.django_db

# The design's example of what stands in a prompt. The wish about answers is told behind the message instead:
# designs.md, 4.22.
BLOCK = """\
## What you know about this user

Current work:
- Building a local-first AI chat app with WebLLM
- Currently implementing a memory extraction system

Preferences:
- Uses TypeScript, minimal abstraction

About user:
- Solo developer based in Copenhagen"""
WISH = "Prefers direct answers without preamble"
KINDS = {
    "Building a local-first AI chat app with WebLLM": ("project", "building"),
    "Currently implementing a memory extraction system": ("project", "building"),
    WISH: ("preference", "reply_style"),
    "Uses TypeScript, minimal abstraction": ("preference", "likes"),
    "Solo developer based in Copenhagen": ("identity", "home"),
}


@pytest.fixture
def learn(clock, scripted, add_exchange):
    """Return a function that says something, of which the model reads this."""

    def say(text: str, answer: str, conversation: Conversation | None = None) -> Conversation:
        scripted.completions.append(answer)
        chat = add_exchange(text, conversation)
        run_extraction_jobs(clock)
        return chat

    return say


@pytest.fixture
def examples(make_fact):
    """Return a function that stores the facts of the example, with ids in the order of the example."""

    def make(**fields) -> None:
        for number, (text, (category, kind)) in enumerate(KINDS.items(), start=1):
            make_fact(text, id=UUID(int=number), category=category, kind=kind, **fields)

    return make


@pytest.fixture
def ask(program, scripted):
    """Return a function that sends a message in a new conversation; returns what the model was given."""

    def send(text: str, conversation: Conversation | None = None, **fields) -> list[str]:
        key = conversation.pk if conversation else program("POST", "conversations", fields).json()["id"]
        answer = program("POST", f"conversations/{key}/messages", {"content": text})
        assert answer.status_code == 201
        return [turn.content for turn in scripted.calls[-1].turns]

    return send


class TestExtraction:
    """What is stored of the example sentences."""

    def test_a_direct_statement_is_stored_with_its_category(self, learn):
        learn("I'm a React developer.", "job: User is a React developer")
        fact = Fact.objects.live().get()
        assert (fact.text, fact.category, fact.confidence) == ("User is a React developer", "identity", 0.75)

    @pytest.mark.parametrize("answer", ["likes: User might try Svelte", "likes?: User might try Svelte"])
    def test_a_hedged_statement_is_not_stored(self, learn, answer):
        learn("I think I might try Svelte.", answer)
        assert not Fact.objects.exists()

    def test_a_text_is_answered_with_facts_as_json(self, program, scripted):
        scripted.completions.extend(["job: User is a React developer", "likes: User might try Svelte"])
        text = "I'm a React developer. I think I might try Svelte."
        answer = program("POST", "extract", {"text": text}).json()
        # The names of the types are those of another design; the confidence is a number.
        assert answer["facts"] == [{"fact": "User is a React developer", "type": "fact", "confidence": 0.75}]

    def test_five_messages_start_an_extraction_at_once(self, clock, add_exchange):
        chat = add_exchange("Message 1.")
        for number in (2, 3, 4):
            add_exchange(f"Message {number}.", chat)
        assert Job.objects.get(kind="extract").run_after > timezone.now()
        add_exchange("Message 5.", chat)
        assert Job.objects.get(kind="extract").run_after == timezone.now()

    def test_a_page_that_is_left_or_hidden_starts_it_too(self, clock, add_exchange, ours):
        chat = add_exchange("I'm a React developer.")
        assert Job.objects.get(kind="extract").run_after > timezone.now()
        ours.post(f"/c/{chat.pk}/flush/")
        assert Job.objects.get(kind="extract").run_after == timezone.now()


class TestDuplicatesAndConflicts:
    """The arithmetic of the confidence, and the example of the two cities."""

    def test_a_repeated_fact_gains_015_up_to_1_and_is_counted(self, learn, program):
        seen = []
        for _ in range(4):
            chat = learn("I like chess.", "likes: User likes chess")
            [fact] = program("GET", "facts").json()["items"]
            assert fact["last_seen_conversation"] == str(chat.pk)
            seen.append((fact["confidence"], fact["mention_count"], fact["last_seen"]))
        assert [confidence for confidence, _, _ in seen] == [0.75, 0.9, 1.0, 1.0]
        assert [count for _, count, _ in seen] == [1, 2, 3, 4]
        assert [when for _, _, when in seen] == sorted({when for _, _, when in seen})

    def test_copenhagen_is_replaced_by_london_and_the_confidence_starts_again(self, learn, program):
        for _ in range(2):
            learn("I am based in Copenhagen.", "home: User is based in Copenhagen")
        [before] = program("GET", "facts").json()["items"]
        learn("I am based in London now.", "home: User is based in London")
        [after] = program("GET", "facts").json()["items"]
        assert (before["text"], before["confidence"]) == ("User is based in Copenhagen", 0.9)
        assert (after["text"], after["confidence"]) == ("User is based in London", 0.75)
        assert after["supersedes"] == before["id"]

    def test_a_fact_written_by_hand_starts_lower_and_rises_faster(self, program):
        told = [program("POST", "facts", {"text": "I bake rye bread."}).json() for _ in range(3)]
        assert [fact["confidence"] for fact in told] == [0.6, 0.85, 1.0]

    def test_a_fact_has_the_members_of_the_example_interface(self, learn, program):
        learn("I am based in London.", "home: User is based in London")
        [fact] = program("GET", "facts").json()["items"]
        # Names are in snake case; `fact` is called text, and `updatesFactId` supersedes: designs.md, 4.7.
        assert fact.keys() >= {
            *("id", "text", "category", "confidence", "mention_count", "first_seen", "last_seen"),
            *("last_seen_conversation", "pinned", "supersedes"),
        }
        assert (fact["category"], fact["mention_count"], fact["pinned"]) == ("identity", 1, False)


@pytest.mark.django_db(transaction=True)
class TestContextInjection:
    """Which facts a prompt contains, and in which form."""

    def test_pinned_facts_stand_after_the_persona_in_the_form_of_the_example(self, examples, ask):
        examples(pinned=True)
        system, *_, own = ask("Hello", system_prompt="Be kind.")
        assert system.endswith(f"Be kind.\n\n{BLOCK}")
        assert own.endswith(f"- {WISH}")

    @pytest.mark.parametrize(
        ("message", "noted"),
        [
            ("How do I boil rice?", set()),
            ("Is minimal abstraction a good rule?", {"Uses TypeScript, minimal abstraction"}),
            ("Where can a developer swim in Copenhagen?", {"Solo developer based in Copenhagen"}),
        ],
    )
    def test_projects_are_always_there_and_others_when_the_message_needs_them(
        self, examples, ask, message, noted
    ):
        examples()
        system, *_, own = ask(message)
        assert system.endswith(BLOCK[: BLOCK.index("\n\nPreferences")])
        # Facts about the form of replies are always used as well.
        assert set(re.findall(r"^- (.*)$", own, re.MULTILINE)) == {WISH, *noted}

    def test_a_question_about_oneself_gets_everything_once(self, examples, ask):
        examples()
        whole = "\n".join(ask("What do you know about me?"))
        assert all(whole.count(f"- {text}") == 1 for text in KINDS)

    def test_empty_sections_are_omitted(self, make_fact, ask):
        make_fact("Currently implementing a memory extraction system", category="project", kind="building")
        system = ask("Hello")[0]
        assert system.endswith("Current work:\n- Currently implementing a memory extraction system")
        assert "Preferences:" not in system
        assert "About user:" not in system

    def test_without_facts_the_section_is_omitted(self, ask):
        assert "What you know about this user" not in ask("Hello")[0]

    def test_the_prompt_does_not_say_why_a_fact_is_known(self, examples, ask):
        examples(pinned=True, quote="My own words about it", mention_count=7)
        system = ask("Hello")[0]
        assert system.endswith(BLOCK)
        assert "own words about it" not in system


class TestTokenBudget:
    """At least 150 tokens, at most 500: a quarter of what remains after the reserve for the reply."""

    @pytest.mark.parametrize(
        ("window", "used", "budget"),
        [
            (8192, 0, 500),  # 25 % of 7,168 would be 1,792
            (4096, 1277, 500),  # 25 % of 2,000
            (4096, 1877, 350),  # 25 % of 1,400
            (4096, 2677, 150),  # 25 % of 600
            (4096, 3000, 150),  # 25 % of 277 would be 69
        ],
    )
    def test_the_budget_follows_the_formula(self, window, used, budget):
        assert memory_budget(window, used) == budget
        share = (window - reply_reserve(window) - used) / 4
        assert budget == max(150, min(500, share))

    @pytest.mark.django_db(transaction=True)
    def test_many_facts_take_220_tokens_and_500_when_all_are_asked_for(self, make_fact, ask, scripted):
        for number in range(60):
            make_fact(f"User is building part {number} of a boat", category="project", kind="building")
        first = ask("Hello")
        block = first[0][first[0].index("## What you know") :]
        assert 180 < scripted.count_text(block) <= 220
        second = ask("What do you know about me?")
        note = second[-1].removesuffix("What do you know about me?").strip()
        assert 350 < scripted.count_text(block) + scripted.count_text(note) <= 500


class TestCompaction:
    """At 80 % of the window the middle of the history goes, then part of the facts."""

    @pytest.mark.parametrize("window", [2000, 4096])
    def test_it_starts_above_eighty_percent_of_the_window(self, window):
        assert not must_compact(int(0.8 * window), window)
        assert must_compact(int(0.8 * window) + 1, window)

    @pytest.fixture
    def long_chat(self, owner, scripted):
        """Return a function that makes a conversation of numbered messages of this length."""
        scripted.context_window = 2048

        def make(count: int, characters: int) -> Conversation:
            chat = Conversation.objects.create(owner=owner, app=default_app(owner))
            for n in range(count):
                add_message(chat, ("user", "assistant")[n % 2], f"{n}: ".ljust(characters, "x"))
            return Conversation.objects.get(pk=chat.pk)

        return make

    @pytest.mark.django_db(transaction=True)
    def test_the_first_exchange_and_the_last_six_messages_stay(self, long_chat, ask):
        sent = ask("Go on", long_chat(20, 400))
        numbers = [int(content.split(":")[0]) for content in sent[1:-1]]
        assert numbers[:2] == [0, 1]
        assert numbers[-6:] == [14, 15, 16, 17, 18, 19]
        assert len(numbers) < 20

    @pytest.mark.django_db(transaction=True)
    def test_a_crowded_prompt_drops_identity_and_half_the_preferences(self, long_chat, make_fact, ask):
        for text in ("builds A", "builds B"):
            make_fact(text, category="project", kind="building")
        # This wish takes all the room behind the message; the others stand in the memory block.
        longest = f"wants G {'very ' * 17}much"
        make_fact(longest, id=UUID(int=1), kind="reply_style", confidence=0.5)
        for confidence, text in ((0.9, "wants C"), (0.8, "wants D"), (0.7, "wants E"), (0.6, "wants F")):
            make_fact(text, kind="reply_style", confidence=confidence)
        make_fact("lives in Oslo", category="identity", kind="home")
        make_fact("is Maya", category="identity", kind="name", pinned=True)
        sent = ask("How is my city?", long_chat(8, 900))
        stated = set(re.findall(r"^- (.*)$", "\n".join([sent[0], sent[-1]]), re.MULTILINE))
        assert stated == {"builds A", "builds B", "wants C", "wants D", longest, "is Maya"}


class TestEviction:
    """Limits, weights and expiry."""

    @pytest.fixture
    def ten_days_old(self, clock, make_fact):
        """One fact of each category, last mentioned ten days ago, with equal confidence."""
        then = clock(0) - timedelta(days=10)
        return {
            category: make_fact(f"old {category}", category=category, kind=kind, last_seen=then)
            for category, kind in (("identity", "home"), ("preference", "likes"), ("project", "building"))
        }

    @pytest.mark.parametrize(
        ("recent", "evicted"),
        [
            (117, set()),
            (118, {"project"}),
            (119, {"project", "identity"}),
            (120, {"project", "identity", "preference"}),
        ],
    )
    def test_above_120_facts_the_highest_scores_go_first(
        self, ten_days_old, make_fact, program, recent, evicted
    ):
        """10 days × 0.8, 0.5 and 0.3, divided by 0.75, are 10.7, 6.7 and 4 for the three categories."""
        for number in range(recent - 1):
            make_fact(f"User likes number {number}")
        program("POST", "facts", {"text": "I bake rye bread."})
        ended = Fact.objects.archived().values_list("category", flat=True)
        assert set(ended) == evicted

    def test_there_are_never_more_than_150(self, clock, make_fact, program):
        clock(0)
        for number in range(150):
            make_fact(f"User likes number {number}")
        program("POST", "facts", {"text": "I bake rye bread."})
        assert program("GET", "facts").json()["total"] == 150
        assert Fact.objects.live().filter(text="I bake rye bread.").exists()

    def test_of_two_equal_facts_the_less_confident_goes_and_a_pinned_one_never(
        self, clock, make_fact, program
    ):
        then = clock(0) - timedelta(days=10)
        make_fact("sure", last_seen=then, confidence=0.9)
        unsure = make_fact("unsure", last_seen=then, confidence=0.5)
        make_fact("pinned", last_seen=then - timedelta(days=99), confidence=0.2, pinned=True)
        for number in range(117):
            make_fact(f"User likes number {number}")
        program("POST", "facts", {"text": "I bake rye bread."})
        assert list(Fact.objects.archived()) == [unsure]

    def test_ten_facts_can_be_pinned(self, make_fact, program):
        facts = [make_fact(f"User likes number {number}") for number in range(11)]
        codes = [
            program("PATCH", f"facts/{fact.pk}", {"pinned": True}, if_match="*").status_code for fact in facts
        ]
        assert codes == [200] * 10 + [409]

    @pytest.mark.parametrize(
        ("category", "kind", "days"),
        [("project", "building", 60), ("preference", "likes", 180), ("identity", "home", 365)],
    )
    def test_a_category_expires_on_its_day(self, owner, clock, make_fact, category, kind, days):
        # Only days on which the owner wrote something count, and the fact is archived: designs.md, 4.18.
        clock(0)
        fact = make_fact("never mentioned again", category=category, kind=kind)
        chat = Conversation.objects.create(owner=owner, app=default_app(owner))
        Message.objects.bulk_create(
            Message(
                conversation=chat,
                seq=day,
                role="user",
                content="x",
                created_at=datetime(2026, 3, 1, 12, tzinfo=UTC) + timedelta(days=day),
            )
            for day in range(1, days + 2)
        )
        for passed, is_live in ((days, True), (days + 1, False)):
            apply_decay(owner, date(2026, 3, 1) + timedelta(days=passed + 1))
            assert Fact.objects.live().filter(pk=fact.pk).exists() is is_live


class TestPanel:
    """The panel shows the design's sentences and counts, and allows undo for the design's times."""

    @pytest.fixture
    def twelve(self, make_fact):
        """Twelve facts, four of each category."""
        kinds = (("project", "building"), ("preference", "likes"), ("identity", "home"))
        return [
            make_fact(f"Fact {n} about {category}", category=category, kind=kind)
            for n in range(4)
            for category, kind in kinds
        ]

    @staticmethod
    def words_of(answer) -> str:
        """Return the words of a page, without tags and with single spaces."""
        return " ".join(strip_tags(text_of(answer)).split())

    def test_the_pill_says_12_memories(self, ours, twelve):
        pill = ours.get("/memory/pill/")
        assert self.words_of(pill) == "12 memories ↗"
        assert 'aria-keyshortcuts="Control+Shift+M Meta+Shift+M"' in text_of(pill)
        assert "12 memories ↗" in self.words_of(ours.get("/"))

    def test_cards_are_grouped_by_category_projects_first(self, ours, twelve):
        page = self.words_of(ours.get("/memory/"))
        places = [page.index(f"Fact 0 about {c}") for c in ("project", "preference", "identity")]
        assert places == sorted(places)
        filtered = self.words_of(ours.get("/memory/?tab=preference"))
        assert set(re.findall(r"Fact 0 about (\w+)", filtered)) == {"preference"}

    def test_an_empty_panel_says_so(self, ours, owner):
        assert "No memories yet. I'll learn as we talk." in self.words_of(ours.get("/memory/")).replace(
            "&#x27;", "'"
        )

    def test_clearing_asks_with_the_count_and_can_be_undone_for_eight_seconds(self, ours, ours_htmx, twelve):
        assert "This will remove all 12 facts" in self.words_of(ours_htmx.get("/memory/clear/"))
        cleared = triggered_events(ours_htmx.post("/memory/clear/"))["forgot"]
        assert (cleared["text"], cleared["seconds"]) == ("Memory cleared", 8)
        assert self.words_of(ours.get("/memory/pill/")) == "0 memories ↗"
        # Until then the facts are only hidden.
        assert Fact.objects.count() == 12
        ours_htmx.post(cleared["undo"])
        assert self.words_of(ours.get("/memory/pill/")) == "12 memories ↗"

    def test_a_deleted_fact_can_be_undone_for_four_seconds(self, ours, ours_htmx, twelve):
        gone = triggered_events(ours_htmx.post(f"/memory/{twelve[0].pk}/delete/"))["forgot"]
        assert gone["seconds"] == 4
        assert self.words_of(ours.get("/memory/pill/")) == "11 memories ↗"
        ours_htmx.post(gone["undo"])
        assert self.words_of(ours.get("/memory/pill/")) == "12 memories ↗"

    def test_a_fact_is_edited_in_one_line_or_with_its_category(self, ours_htmx, twelve):
        address = f"/memory/{twelve[0].pk}/edit/"
        assert "<select" not in text_of(ours_htmx.get(address))
        assert "<select" in text_of(ours_htmx.get(f"{address}?full=1"))
        saved = text_of(ours_htmx.post(address, {"text": "Fact 0, corrected"}))
        assert "Fact 0, corrected" in saved
        assert "card stack saved" in saved

    def test_several_facts_are_selected_and_deleted_at_once(self, ours, ours_htmx, twelve):
        managed = text_of(ours.get("/memory/?manage=1"))
        assert managed.count('type="checkbox"') == 12
        ours_htmx.post("/memory/batch/", {"fact": [str(f.pk) for f in twelve[:5]], "do": "delete"})
        assert self.words_of(ours.get("/memory/pill/")) == "7 memories ↗"

    def test_a_fact_is_added_in_the_field_at_the_bottom(self, ours, ours_htmx, owner):
        assert 'placeholder="Remember something…"' in text_of(ours.get("/memory/"))
        ours_htmx.post("/memory/add/", {"text": "I bake rye bread."})
        assert self.words_of(ours.get("/memory/pill/")) == "1 memory ↗"

    def test_selected_words_of_a_reply_are_remembered(self, ours_htmx, add_exchange):
        add_exchange("Which bread do you like?")
        reply = Message.objects.get(role="assistant")
        ours_htmx.post("/memory/highlight/", {"message": str(reply.pk), "text": "All right."})
        assert [(f.text, f.confidence) for f in Fact.objects.live()] == [("All right.", 0.6)]

    def test_the_first_conversation_invites_the_user_to_share_something(self, ours, owner):
        assert "Tell me something about you." in self.words_of(ours.get("/"))

    def test_extracted_and_added_facts_look_the_same(self, clock, ours, make_fact):
        facts = [make_fact("User likes chess", origin=origin) for origin in ("extracted", "manual")]
        page = text_of(ours.get("/memory/"))
        shown = []
        for fact in facts:
            start = page.index(f'<article class="card stack" id="fact-{fact.pk}"')
            card = page[start : page.index("</article>", start)].replace(str(fact.pk), "")
            # Without the token against forged requests, which differs from form to form.
            shown.append(re.sub(r'value="\w{64}"', "", card))
        assert shown[0] == shown[1]
