"""What exports of other programs really hold: shells, hidden ends, spoken words, copies, names of files."""

from __future__ import annotations

import pytest

from chat.models import Conversation, Fact, Message

pytestmark = pytest.mark.django_db


def node(name, parent, role, content, **message):
    content = {"content_type": "text", "parts": [content]} if isinstance(content, str) else content
    said = {"id": name, "author": {"role": role}, "create_time": 1767261600.0, "content": content, **message}
    return {"id": name, "parent": parent, "message": said}


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


def told(key=None):
    rows = Message.objects.all() if key is None else Message.objects.filter(conversation=key)
    return [(m.role, m.content) for m in rows.shown()]


class TestChatGpt:
    @pytest.mark.parametrize("first", [True, False])
    @pytest.mark.parametrize("shell", [{}, {"mapping": None}])
    def test_a_shell_without_messages_does_not_stand_in_the_way_of_the_others(self, taken, first, shell):
        empty = {"id": "shell", "conversation_id": "shell", "title": "Empty", "create_time": 1, **shell}
        chats = [empty, chatgpt(ASKED, ANSWER)] if first else [chatgpt(ASKED, ANSWER), empty]
        assert taken(chats).messages.added == 2

    def test_the_branch_that_was_shown_is_so_where_its_end_is_hidden(self, taken):
        later = node("c", "a", "assistant", "Two hours.", create_time=1767261900.0)
        end = node("d", "b", "assistant", {"content_type": "reasoning_recap", "content": "Thought for 5s"})
        taken([chatgpt(ASKED, ANSWER, later, end)])
        assert told() == [("user", "How long does it rise?"), ("assistant", "An hour.")]

    def test_what_was_spoken_stands_there_once_and_without_its_recording(self, taken):
        parts = [
            {"content_type": "audio_transcription", "text": "How long?", "direction": "in"},
            {"content_type": "real_time_user_audio_video_asset_pointer", "audio_asset_pointer": {}},
        ]
        spoken = {"content_type": "multimodal_text", "parts": parts}
        mute = {"content_type": "multimodal_text", "parts": parts[1:]}
        taken([chatgpt(node("a", None, "user", spoken), node("b", "a", "user", mute))])
        assert told() == [("user", "How long?"), ("user", "[A recording, which was not imported]")]

    def test_a_file_is_named_though_nothing_else_was_said(self, taken):
        files = [
            {"name": "cv.pdf", "mime_type": "application/pdf"},
            {"name": "a.png", "mime_type": "image/png"},
        ]
        taken([chatgpt(node("a", None, "user", "", metadata={"attachments": files}), ANSWER)])
        assert told()[0] == ("user", "[The file “cv.pdf”, which was not imported]")

    @pytest.mark.parametrize("author", [None, {}, {"role": None}])
    def test_what_has_no_author_is_never_the_user_s(self, owner, taken, author):
        nobody = node("n", None, "user", "Model set to default.", author=author)
        blank = node("m", "n", "user", None, author=author)
        taken([chatgpt(nobody, blank, {**ASKED, "parent": "m"}, ANSWER)], learn=True)
        assert told()[0] == ("system", "Model set to default.")
        assert [m.content for m in Message.objects.backlog(owner)] == ["How long does it rise?"]

    def test_a_content_of_another_shape_is_not_told_as_code(self, taken):
        strange = {"content_type": "new", "text": {"a": 1}, "result": ["b"]}
        taken([chatgpt(ASKED, node("b", "a", "assistant", strange))])
        assert told() == [("user", "How long does it rise?")]

    def test_two_messages_of_one_id_are_two(self, taken):
        twin = node("b", "a", "assistant", "An hour.", id="a")
        assert taken([chatgpt(ASKED, twin)]).messages.added == 2
        assert not taken([chatgpt(ASKED, twin)]).changes

    def test_a_chat_that_was_begun_with_anothers_messages_has_them_too(self, taken):
        original = chatgpt(ASKED, ANSWER)
        branch = chatgpt(ASKED, ANSWER, node("c", "b", "user", "Thanks."), key="two")
        assert taken([original, branch]).messages.added == 5
        keys = list(Conversation.objects.values_list("pk", flat=True))
        assert sorted(len(told(key)) for key in keys) == [2, 3]
        assert not taken([original, branch]).changes
        assert not taken([branch, original]).changes

    def test_the_same_chat_twice_in_a_file_is_taken_once(self, taken):
        outcome = taken([chatgpt(ASKED, ANSWER), chatgpt(ASKED, ANSWER)])
        assert (outcome.conversations.added, outcome.conversations.refused) == (1, 1)
        assert outcome.refusals[0].why == "Another chat of this file is the same one here."


class TestClaude:
    def test_a_voice_note_is_what_the_user_said(self, taken):
        note = {"type": "voice_note", "title": "Note", "text": "How long does it rise?"}
        taken([claude({"sender": "human", "text": "", "content": [note]})])
        assert told() == [("user", "How long does it rise?")]

    def test_an_artifact_is_taken_with_what_it_holds(self, taken):
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
        taken([claude({"sender": "assistant", "content": [*blocks, result, search]})])
        content = "rise.py\n\n```python\nx = 1\n```\n\nRecipe\n\nKnead, **rest**, bake."
        assert told() == [("assistant", content)]


def test_an_assistant_s_own_words_in_mem0_are_no_memory_of_the_user(taken):
    row = {"memory": "I would suggest rye.", "user_id": "alex", "created_at": "2026-01-01T10:00:00"}
    outcome = taken(
        [{**row, "id": "1", "role": "assistant"}, {**row, "id": "2", "memory": "Likes rye bread"}]
    )
    assert outcome.refusals[0].why == "It tells of an assistant, not of you."
    assert [fact.text for fact in Fact.objects.all()] == ["Likes rye bread"]
