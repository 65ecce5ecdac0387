"""A client of /v1 chooses the app, the conversation and the memory mode; by default nothing is kept."""

from __future__ import annotations

import openai
import pytest
from django.utils import timezone

from chat.actions import apps, client_history
from chat.jobs.runner import run_due
from chat.models import Conversation, Fact, Job, Message

SAID = "I live in Oslo."


class TestTemporaryConversations:
    """Without a conversation the chat is temporary: no memory, not listed, deleted soon."""

    def test_by_default_no_fact_is_used_or_learned(self, ask, scripted, owner, make_fact):
        make_fact("User is called Ada", kind="name", category="identity", pinned=True)
        ask("What is my name? " + SAID)
        assert "Ada" not in str(scripted.calls[-1].turns)
        chat = Conversation.objects.get()
        assert (chat.temporary, chat.memory_mode) == (True, "off")
        assert not Job.objects.filter(kind="extract").exists()

    def test_in_read_only_mode_facts_are_used_and_none_is_learned(self, ask, scripted, owner, make_fact):
        make_fact("User is called Ada", kind="name", category="identity", pinned=True)
        ask("What is my name?", metadata={"memory": "read_only"})
        assert "called Ada" in str(scripted.calls[-1].turns)
        run_due({"extract"})
        assert Fact.objects.count() == 1

    def test_learning_needs_a_conversation_that_is_kept(self, ask):
        with pytest.raises(openai.BadRequestError, match="permanent conversation"):
            ask(SAID, metadata={"memory": "on"})

    def test_a_request_that_repeats_the_history_continues_the_conversation(self, ask, scripted):
        scripted.replies.extend(["Nice.  ", "Snow."])
        first = ask(("system", "Be brief."), SAID)
        second = ask(("system", "Be brief."), SAID, ("assistant", "Nice."), "And the weather?")
        assert second.conversation == first.conversation
        assert Message.objects.count() == 4
        assert [call.slot for call in scripted.calls if call.slot == first.conversation] == [
            first.conversation
        ] * 2

    def test_a_different_history_starts_another_conversation(self, ask):
        first = ask(SAID)
        other = ask(SAID, ("assistant", "Something it never said."), "And the weather?")
        assert other.conversation != first.conversation
        assert ask(SAID).conversation not in (first.conversation, other.conversation)

    def test_only_one_request_continues_a_conversation(self, ask):
        first = ask(SAID)
        rest = (SAID, ("assistant", "Understood."), "And the weather?")
        assert ask(*rest).conversation == first.conversation
        assert ask(*rest).conversation != first.conversation

    def test_another_user_does_not_continue_it(self, ask, client_of, other):
        first = ask(SAID)
        messages = [
            {"role": "user", "content": SAID},
            {"role": "assistant", "content": "Understood."},
            {"role": "user", "content": "And the weather?"},
        ]
        theirs = client_of(other).chat.completions.create(model="any", messages=messages)
        assert theirs.conversation != first.conversation

    def test_it_is_deleted_when_no_request_continues_it(self, ask):
        ask(SAID)
        job = Job.objects.get(kind="discard")
        assert job.run_after > timezone.now() + client_history.RESUME_WINDOW / 2
        Job.objects.update(run_after=timezone.now())
        run_due({"discard"})
        assert not Conversation.objects.exists()


class TestNamedConversations:
    """The server keeps the history; only the new message is taken from the request."""

    def test_a_new_conversation_is_kept_and_titled_and_extracted(self, ask, scripted):
        scripted.default_completion = "home: User lives in Oslo"
        answer = ask(SAID, metadata={"conversation": "new"})
        chat = Conversation.objects.get(pk=answer.conversation)
        assert (chat.temporary, chat.memory_mode, chat.title) == (False, "on", SAID)
        Job.objects.filter(kind="extract").update(run_after=timezone.now())
        run_due({"extract"})
        assert Fact.objects.get().text == "User lives in Oslo"

    def test_earlier_messages_of_a_new_conversation_are_saved_and_extracted(self, ask, scripted):
        answer = ask(SAID, ("assistant", "Nice."), "And I ski.", metadata={"conversation": "new"})
        rows = Message.objects.filter(conversation=answer.conversation).order_by("seq")
        assert [m.content for m in rows] == [SAID, "Nice.", "And I ski.", "Understood."]
        Job.objects.filter(kind="extract").update(run_after=timezone.now())
        run_due({"extract"})
        assert Conversation.objects.get().extracted_through == 3

    def test_in_an_existing_conversation_only_the_last_message_is_saved(self, ask, scripted):
        first = ask(SAID, metadata={"conversation": "new"})
        ask(
            "never said",
            ("assistant", "neither"),
            "And I ski.",
            metadata={"conversation": first.conversation},
        )
        rows = Message.objects.filter(conversation=first.conversation).order_by("seq")
        assert [m.content for m in rows] == [SAID, "Understood.", "And I ski.", "Understood."]

    def test_a_header_can_choose_the_conversation_and_the_response_names_it(self, client):
        made = client.chat.completions.with_raw_response.create(
            model="any",
            messages=[{"role": "user", "content": SAID}],
            extra_headers={"X-Memoryapp-Conversation": "new"},
        )
        assert made.headers["X-Memoryapp-Conversation"] == str(Conversation.objects.get(temporary=False).pk)

    def test_an_app_is_chosen_by_its_slug(self, ask, owner):
        work = apps.create_app(owner, "Work")
        answer = ask(SAID, metadata={"conversation": "new", "app": work.slug})
        assert Conversation.objects.get(pk=answer.conversation).app == work
        with pytest.raises(openai.NotFoundError):
            ask(SAID, metadata={"app": "nowhere"})

    @pytest.mark.parametrize(
        ("name", "value"), [("memory", "off"), ("app", "elsewhere"), ("past_chats", "off")]
    )
    def test_settings_that_contradict_the_conversation_are_refused(self, ask, name, value):
        there = {"conversation": ask(SAID, metadata={"conversation": "new"}).conversation}
        with pytest.raises(openai.BadRequestError):
            ask("My cat is called Miso.", metadata=there | {name: value})
        assert Message.objects.count() == 2

    def test_only_a_kept_conversation_quotes_past_chats_unless_the_request_says_otherwise(self, ask):
        def quotes(**metadata):
            answer = ask(SAID, metadata=metadata)
            return Conversation.objects.get(pk=answer.conversation).use_past_chats

        assert (quotes(), quotes(memory="read_only", past_chats="on")) == (False, True)
        assert (quotes(conversation="new"), quotes(conversation="new", past_chats="off")) == (True, False)

    def test_past_chats_can_be_chosen_by_a_header(self, client):
        chosen = {"X-Memoryapp-Conversation": "new", "X-Memoryapp-Past-Chats": "off"}
        client.chat.completions.create(
            model="any", messages=[{"role": "user", "content": SAID}], extra_headers=chosen
        )
        assert not Conversation.objects.get().use_past_chats

    def test_an_unknown_choice_of_past_chats_is_refused(self, ask):
        with pytest.raises(openai.BadRequestError, match="past_chats"):
            ask(SAID, metadata={"past_chats": "maybe"})

    def test_a_request_with_another_choice_does_not_continue_a_conversation(self, ask):
        first = ask(SAID, metadata={"memory": "read_only"})
        rest = (SAID, ("assistant", "Understood."), "And the weather?")
        other = ask(*rest, metadata={"memory": "read_only", "past_chats": "on"})
        assert other.conversation != first.conversation

    @pytest.mark.parametrize("where", [{}, {"conversation": "new"}])
    def test_an_archived_app_is_refused(self, ask, owner, where):
        work = apps.create_app(owner, "Work")
        apps.archive_app(work)
        with pytest.raises(openai.BadRequestError, match="put away"):
            ask(SAID, metadata=where | {"app": work.slug})
        assert not Conversation.objects.exists()

    def test_a_temporary_conversation_made_elsewhere_keeps_its_metadata(self, ask, owner):
        from chat.actions import conversations

        own = {"mine": "yes"}
        made = conversations.create_conversation(owner, temporary=True, memory_mode="off", metadata=own)
        ask(SAID, metadata={"conversation": str(made.pk)})
        made.refresh_from_db()
        assert made.metadata == own
        assert not Job.objects.filter(kind="discard").exists()

    def test_a_second_message_during_a_reply_is_a_conflict(self, ask, scripted, gate):
        gate.release(1)
        first = ask(SAID, metadata={"conversation": "new"})
        stream = ask("More.", stream=True, metadata={"conversation": first.conversation})
        with pytest.raises(openai.ConflictError):
            ask("And more.", metadata={"conversation": first.conversation})
        gate.release(100)
        assert list(stream)


@pytest.mark.parametrize("key", ["owner's", "other's", "not-a-key", "revoked"])
def test_only_the_owner_can_use_a_conversation(client_of, owner, other, talk, key):
    from chat.actions.api_tokens import revoke_token
    from chat.models import ApiToken

    asked, reply = talk(SAID)
    Message.objects.filter(pk=reply.pk).update(state="complete", content="Nice.")
    users = {"owner's": owner, "other's": other, "revoked": owner}
    client = client_of(users[key]) if key in users else client_of(key=key)
    if key == "revoked":
        revoke_token(ApiToken.objects.get())

    def send():
        return client.chat.completions.create(
            model="any",
            messages=[{"role": "user", "content": "More."}],
            metadata={"conversation": str(asked.conversation_id)},
        )

    if key == "owner's":
        assert send().conversation == str(asked.conversation_id)
        return
    expected = openai.NotFoundError if key == "other's" else openai.AuthenticationError
    with pytest.raises(expected):
        send()
    assert Message.objects.count() == 2
    if key != "other's":
        with pytest.raises(openai.AuthenticationError):
            client.models.list()


@pytest.mark.parametrize(
    "headers", [{}, {"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}]
)
@pytest.mark.parametrize("path", ["/v1/models", "/v1/chat/completions", "/v1/anything"])
def test_in_local_mode_a_page_of_another_site_is_refused(ours, db, path, headers):
    for method in ("get", "post"):
        answer = getattr(ours.__class__(), method)(path, headers=headers)
        assert answer.status_code in (401, 403)
        assert "error" in answer.json()
