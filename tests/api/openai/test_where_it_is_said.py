"""A program chooses the app, the conversation and what memory does; else nothing stays behind."""

from __future__ import annotations

import openai
import pytest
from django.utils import timezone

from chat.actions import apps, borrowed
from chat.jobs.runner import run_due
from chat.models import Conversation, Fact, Job, Message

SAID = "I live in Oslo."


class TestWithoutAConversation:
    """It is temporary: no memory, no place in a list, and gone soon."""

    def test_it_knows_nothing_and_learns_nothing(self, ask, scripted, owner, make_fact):
        make_fact("User is called Ada", kind="name", category="identity", pinned=True)
        ask("What is my name? " + SAID)
        assert "Ada" not in str(scripted.calls[-1].turns)
        chat = Conversation.objects.get()
        assert (chat.temporary, chat.memory_mode) == (True, "off")
        assert not Job.objects.filter(kind="extract").exists()

    def test_it_may_know_and_still_learns_nothing(self, ask, scripted, owner, make_fact):
        make_fact("User is called Ada", kind="name", category="identity", pinned=True)
        ask("What is my name?", metadata={"memory": "read_only"})
        assert "called Ada" in str(scripted.calls[-1].turns)
        run_due({"extract"})
        assert Fact.objects.count() == 1

    def test_learning_needs_a_conversation_that_stays(self, ask):
        with pytest.raises(openai.BadRequestError, match="stays"):
            ask(SAID, metadata={"memory": "on"})

    def test_the_next_request_goes_on_with_what_the_model_has_read(self, ask, scripted):
        scripted.replies.extend(["Nice.  ", "Snow."])
        first = ask(("system", "Be brief."), SAID)
        second = ask(("system", "Be brief."), SAID, ("assistant", "Nice."), "And the weather?")
        assert second.conversation == first.conversation
        assert Message.objects.count() == 4
        assert [call.slot for call in scripted.calls if call.slot == first.conversation] == [
            first.conversation
        ] * 2

    def test_what_was_said_otherwise_begins_another(self, ask):
        first = ask(SAID)
        other = ask(SAID, ("assistant", "Something it never said."), "And the weather?")
        assert other.conversation != first.conversation
        assert ask(SAID).conversation not in (first.conversation, other.conversation)

    def test_only_one_request_goes_on_with_it(self, ask):
        first = ask(SAID)
        rest = (SAID, ("assistant", "Understood."), "And the weather?")
        assert ask(*rest).conversation == first.conversation
        assert ask(*rest).conversation != first.conversation

    def test_nobody_else_goes_on_with_it(self, ask, client_of, other):
        first = ask(SAID)
        messages = [
            {"role": "user", "content": SAID},
            {"role": "assistant", "content": "Understood."},
            {"role": "user", "content": "And the weather?"},
        ]
        theirs = client_of(other).chat.completions.create(model="any", messages=messages)
        assert theirs.conversation != first.conversation

    def test_it_is_gone_when_nobody_comes_back(self, ask):
        ask(SAID)
        job = Job.objects.get(kind="discard")
        assert job.run_after > timezone.now() + borrowed.WAITS / 2
        Job.objects.update(run_after=timezone.now())
        run_due({"discard"})
        assert not Conversation.objects.exists()


class TestInAConversation:
    """Its history is ours; only what is new is taken from the program."""

    def test_a_new_one_stays_is_named_and_is_learned_from(self, ask, scripted):
        scripted.default_completion = "home: User lives in Oslo"
        answer = ask(SAID, metadata={"conversation": "new"})
        chat = Conversation.objects.get(pk=answer.conversation)
        assert (chat.temporary, chat.memory_mode, chat.title) == (False, "on", SAID)
        Job.objects.filter(kind="extract").update(run_after=timezone.now())
        run_due({"extract"})
        assert Fact.objects.get().text == "User lives in Oslo"

    def test_what_was_said_before_it_began_is_kept_and_read(self, ask, scripted):
        answer = ask(SAID, ("assistant", "Nice."), "And I ski.", metadata={"conversation": "new"})
        rows = Message.objects.filter(conversation=answer.conversation).order_by("seq")
        assert [m.content for m in rows] == [SAID, "Nice.", "And I ski.", "Understood."]
        Job.objects.filter(kind="extract").update(run_after=timezone.now())
        run_due({"extract"})
        assert Conversation.objects.get().extracted_through == 3

    def test_only_the_last_words_are_taken(self, ask, scripted):
        first = ask(SAID, metadata={"conversation": "new"})
        ask(
            "never said",
            ("assistant", "neither"),
            "And I ski.",
            metadata={"conversation": first.conversation},
        )
        rows = Message.objects.filter(conversation=first.conversation).order_by("seq")
        assert [m.content for m in rows] == [SAID, "Understood.", "And I ski.", "Understood."]

    def test_a_header_chooses_too_and_the_answer_says_where_it_was(self, client):
        made = client.chat.completions.with_raw_response.create(
            model="any",
            messages=[{"role": "user", "content": SAID}],
            extra_headers={"X-Memoryapp-Conversation": "new"},
        )
        assert made.headers["X-Memoryapp-Conversation"] == str(Conversation.objects.get(temporary=False).pk)

    def test_an_app_is_chosen_by_its_slug(self, ask, owner):
        work = apps.create(owner, "Work")
        answer = ask(SAID, metadata={"conversation": "new", "app": work.slug})
        assert Conversation.objects.get(pk=answer.conversation).app == work
        with pytest.raises(openai.NotFoundError):
            ask(SAID, metadata={"app": "nowhere"})

    @pytest.mark.parametrize(("name", "value"), [("memory", "off"), ("app", "elsewhere")])
    def test_what_it_would_not_keep_to_is_refused(self, ask, name, value):
        there = {"conversation": ask(SAID, metadata={"conversation": "new"}).conversation}
        with pytest.raises(openai.BadRequestError):
            ask("My cat is called Miso.", metadata=there | {name: value})
        assert Message.objects.count() == 2

    @pytest.mark.parametrize("where", [{}, {"conversation": "new"}])
    def test_an_app_that_was_put_away_takes_none(self, ask, owner, where):
        work = apps.create(owner, "Work")
        apps.archive(work)
        with pytest.raises(openai.BadRequestError, match="put away"):
            ask(SAID, metadata=where | {"app": work.slug})
        assert not Conversation.objects.exists()

    def test_a_temporary_one_of_somebody_elses_making_keeps_its_metadata_and_its_end(self, ask, owner):
        from chat.actions import keeping

        own = {"mine": "yes"}
        made = keeping.begin(owner, temporary=True, memory_mode="off", metadata=own)
        ask(SAID, metadata={"conversation": str(made.pk)})
        made.refresh_from_db()
        assert made.metadata == own
        assert not Job.objects.filter(kind="discard").exists()

    def test_while_a_reply_is_written_the_next_message_waits(self, ask, scripted, gate):
        gate.release(1)
        first = ask(SAID, metadata={"conversation": "new"})
        stream = ask("More.", stream=True, metadata={"conversation": first.conversation})
        with pytest.raises(openai.ConflictError):
            ask("And more.", metadata={"conversation": first.conversation})
        gate.release(100)
        assert list(stream)


@pytest.mark.parametrize("key", ["owner's", "other's", "not-a-key", "revoked"])
def test_of_a_conversation_only_its_owner_knows(client_of, owner, other, talk, key):
    from chat.actions.tokens import revoke_token
    from chat.models import ApiToken

    asked, reply = talk(SAID)
    Message.objects.filter(pk=reply.pk).update(state="complete", content="Nice.")
    users = {"owner's": owner, "other's": other, "revoked": owner}
    client = client_of(users[key]) if key in users else client_of(key=key)
    if key == "revoked":
        revoke_token(ApiToken.objects.get())

    def say():
        return client.chat.completions.create(
            model="any",
            messages=[{"role": "user", "content": "More."}],
            metadata={"conversation": str(asked.conversation_id)},
        )

    if key == "owner's":
        assert say().conversation == str(asked.conversation_id)
        return
    expected = openai.NotFoundError if key == "other's" else openai.AuthenticationError
    with pytest.raises(expected):
        say()
    assert Message.objects.count() == 2
    if key != "other's":
        with pytest.raises(openai.AuthenticationError):
            client.models.list()


@pytest.mark.parametrize(
    "headers", [{}, {"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}]
)
@pytest.mark.parametrize("path", ["/v1/models", "/v1/chat/completions", "/v1/anything"])
def test_in_local_mode_a_page_of_another_site_gets_nothing(ours, db, path, headers):
    for method in ("get", "post"):
        answer = getattr(ours.__class__(), method)(path, headers=headers)
        assert answer.status_code in (401, 403)
        assert "error" in answer.json()
