"""Peculiarities of real exports: empty conversations, hidden messages, voice, copies and attachments."""

from __future__ import annotations

import pytest

from chat.models import Conversation, Fact, Message

pytestmark = pytest.mark.django_db


def node(name, parent, role, content, **message):
    content = {"content_type": "text", "parts": [content]} if isinstance(content, str) else content
    message_row = {
        "id": name,
        "author": {"role": role},
        "create_time": 1767261600.0,
        "content": content,
        **message,
    }
    return {"id": name, "parent": parent, "message": message_row}


def chatgpt(*nodes, key="one", **chat):
    mapping = {found["id"]: found for found in nodes}
    row = {"id": key, "title": "Bread", "create_time": 1767261600, "mapping": mapping}
    return {**row, "current_node": nodes[-1]["id"], **chat}


ASKED = node("a", None, "user", "How long does it rise?")
ANSWER = node("b", "a", "assistant", "An hour.")


def claude(*messages, key="one"):
    rows = [
        {"uuid": f"{key}-{n}", "created_at": "2026-01-01T10:00:00Z", **message}
        for n, message in enumerate(messages)
    ]
    return {"uuid": key, "name": "Bread", "created_at": "2026-01-01T10:00:00Z", "chat_messages": rows}


def list_messages(key=None):
    rows = Message.objects.all() if key is None else Message.objects.filter(conversation=key)
    return [(m.role, m.content) for m in rows.current_branch()]


class TestChatGpt:
    @pytest.mark.parametrize("first", [True, False])
    @pytest.mark.parametrize("shell", [{}, {"mapping": None}])
    def test_an_empty_conversation_does_not_prevent_importing_others(self, import_document, first, shell):
        empty = {"id": "shell", "conversation_id": "shell", "title": "Empty", "create_time": 1, **shell}
        chats = [empty, chatgpt(ASKED, ANSWER)] if first else [chatgpt(ASKED, ANSWER), empty]
        assert import_document(chats).messages.added == 2

    def test_the_shown_branch_is_current_if_its_last_message_is_hidden(self, import_document):
        later = node("c", "a", "assistant", "Two hours.", create_time=1767261900.0)
        end = node("d", "b", "assistant", {"content_type": "reasoning_recap", "content": "Thought for 5s"})
        import_document([chatgpt(ASKED, ANSWER, later, end)])
        assert list_messages() == [("user", "How long does it rise?"), ("assistant", "An hour.")]

    def test_voice_messages_are_imported_as_their_transcript(self, import_document):
        parts = [
            {"content_type": "audio_transcription", "text": "How long?", "direction": "in"},
            {"content_type": "real_time_user_audio_video_asset_pointer", "audio_asset_pointer": {}},
        ]
        voice = {"content_type": "multimodal_text", "parts": parts}
        mute = {"content_type": "multimodal_text", "parts": parts[1:]}
        import_document([chatgpt(node("a", None, "user", voice), node("b", "a", "user", mute))])
        assert list_messages() == [("user", "How long?"), ("user", "[A recording, which was not imported]")]

    def test_an_attachment_without_text_is_named(self, import_document):
        files = [
            {"name": "cv.pdf", "mime_type": "application/pdf"},
            {"name": "a.png", "mime_type": "image/png"},
        ]
        import_document([chatgpt(node("a", None, "user", "", metadata={"attachments": files}), ANSWER)])
        assert list_messages()[0] == ("user", "[The file “cv.pdf”, which was not imported]")

    @pytest.mark.parametrize("author", [None, {}, {"role": None}])
    def test_messages_without_an_author_are_not_the_users(self, owner, import_document, author):
        nobody = node("n", None, "user", "Model set to default.", author=author)
        blank = node("m", "n", "user", None, author=author)
        import_document([chatgpt(nobody, blank, {**ASKED, "parent": "m"}, ANSWER)], learn=True)
        assert list_messages()[0] == ("system", "Model set to default.")
        assert [m.content for m in Message.objects.backlog(owner)] == ["How long does it rise?"]

    def test_unknown_content_types_are_skipped(self, import_document):
        strange = {"content_type": "new", "text": {"a": 1}, "result": ["b"]}
        import_document([chatgpt(ASKED, node("b", "a", "assistant", strange))])
        assert list_messages() == [("user", "How long does it rise?")]

    def test_two_messages_with_one_id_are_both_imported(self, import_document):
        twin = node("b", "a", "assistant", "An hour.", id="a")
        assert import_document([chatgpt(ASKED, twin)]).messages.added == 2
        assert not import_document([chatgpt(ASKED, twin)]).changes

    def test_conversations_that_share_messages_both_get_them(self, import_document):
        original = chatgpt(ASKED, ANSWER)
        branch = chatgpt(ASKED, ANSWER, node("c", "b", "user", "Thanks."), key="two")
        assert import_document([original, branch]).messages.added == 5
        keys = list(Conversation.objects.values_list("pk", flat=True))
        assert sorted(len(list_messages(key)) for key in keys) == [2, 3]
        assert not import_document([original, branch]).changes
        assert not import_document([branch, original]).changes

    def test_a_conversation_that_occurs_twice_is_imported_once(self, import_document):
        outcome = import_document([chatgpt(ASKED, ANSWER), chatgpt(ASKED, ANSWER)])
        assert (outcome.conversations.added, outcome.conversations.refused) == (1, 1)
        assert outcome.refusals[0].why == "Another chat in this file is the same chat."


class TestClaude:
    def test_a_voice_note_becomes_a_user_message(self, import_document):
        note = {"type": "voice_note", "title": "Note", "text": "How long does it rise?"}
        import_document([claude({"sender": "human", "text": "", "content": [note]})])
        assert list_messages() == [("user", "How long does it rise?")]

    def test_an_artifact_is_imported_with_its_content(self, import_document):
        made = [
            {
                "title": "rise.py",
                "type": "application/vnd.ant.code",
                "language": "python",
                "content": "x = 1",
            },
            {"title": "Recipe", "type": "text/markdown", "content": "Knead, **rest**, bake."},
            {"command": "update", "old_str": "rest", "new_str": "wait"},
        ]
        blocks = [{"type": "tool_use", "name": "artifacts", "input": given} for given in made]
        result = {"type": "tool_result", "name": "artifacts", "content": [{"type": "text", "text": "OK"}]}
        search = {"type": "tool_use", "name": "web_search", "input": {"query": "rise"}}
        import_document([claude({"sender": "assistant", "content": [*blocks, result, search]})])
        content = "rise.py\n\n```python\nx = 1\n```\n\nRecipe\n\nKnead, **rest**, bake."
        assert list_messages() == [("assistant", content)]


def test_memories_of_the_assistant_in_mem0_are_refused(import_document):
    row = {"memory": "I would suggest rye.", "user_id": "alex", "created_at": "2026-01-01T10:00:00"}
    outcome = import_document(
        [{**row, "id": "1", "role": "assistant"}, {**row, "id": "2", "memory": "Likes rye bread"}]
    )
    assert outcome.refusals[0].why == "It tells of an assistant, not of you."
    assert [fact.text for fact in Fact.objects.all()] == ["Likes rye bread"]
