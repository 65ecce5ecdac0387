"""Conversations and apps in the REST API: create, list, change, end, delete and prune."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from chat.actions import apps
from chat.models import AppMemory, Conversation, MemoryMode
from tests.full_token import create_full_token

from .conftest import Program

pytestmark = pytest.mark.django_db


@pytest.fixture
def new_chat(program):
    return program("POST", "conversations", {"title": "Bread"}).json()


def test_a_conversation_is_created_with_all_its_settings(program, owner):
    app = apps.create_app(owner, "Recipes")
    wanted = {
        "app": "recipes",
        "title": "Bread",
        "system_prompt": "Be brief.",
        "strategy": "simple",
        "memory_mode": "read_only",
        "use_past_chats": False,
        "metadata": {"source": ["terminal", 7]},
    }
    answer = program("POST", "conversations", wanted)
    assert answer.status_code == 201
    created = answer.json()
    assert {name: created[name] for name in wanted} == wanted
    assert program("GET", f"conversations/{created['id']}").json() == created
    assert Conversation.objects.get().app == app


def test_by_default_a_conversation_is_created_in_the_first_app(program):
    assert program("POST", "conversations", {}).json()["app"] == "general"


def test_a_temporary_conversation_has_no_memory_and_is_not_listed(program):
    new_chat = program("POST", "conversations", {"temporary": True}).json()
    assert (new_chat["memory_mode"], new_chat["temporary"]) == ("off", True)
    assert program("GET", "conversations").json()["total"] == 0
    assert program("POST", f"conversations/{new_chat['id']}/end").json() == {"ended": True}
    assert program("GET", f"conversations/{new_chat['id']}").status_code == 404


def test_a_temporary_conversation_can_be_kept(program):
    new_chat = program("POST", "conversations", {"temporary": True}).json()
    assert program("POST", f"conversations/{new_chat['id']}/keep").json() == {"kept": True}
    assert program("POST", f"conversations/{new_chat['id']}/keep").json() == {"kept": False}
    assert program("GET", "conversations").json()["items"][0]["temporary"] is False


def test_an_app_of_another_user_is_not_found(program, other):
    apps.create_app(other, "Theirs")
    assert program("POST", "conversations", {"app": "theirs"}).status_code == 404
    assert not Conversation.objects.exists()


def test_the_list_is_sorted_by_the_last_message_and_can_be_filtered(program, owner):
    apps.create_app(owner, "Recipes")
    first = program("POST", "conversations", {"title": "First", "app": "recipes"}).json()
    program("POST", "conversations", {"title": "Second"})
    program("POST", f"conversations/{first['id']}/messages", {"content": "Hello", "reply": False})
    titles = [c["title"] for c in program("GET", "conversations").json()["items"]]
    assert titles == ["First", "Second"]
    assert program("GET", "conversations?app=recipes").json()["total"] == 1
    assert program("GET", "conversations?pinned=true").json()["total"] == 0


def test_all_editable_members_can_be_changed(program, owner, new_chat):
    apps.create_app(owner, "Recipes")
    wanted = {"title": "Cake", "pinned": True, "strategy": "topics", "memory_mode": "off", "app": "recipes"}
    wanted["use_past_chats"] = False
    changed = program("PATCH", f"conversations/{new_chat['id']}", wanted)
    assert {name: changed.json()[name] for name in wanted} == wanted
    assert program("PATCH", f"conversations/{new_chat['id']}", {"strategy": None}).json()["strategy"] == ""
    assert program("PATCH", f"conversations/{new_chat['id']}", {}).json()["title"] == "Cake"


def test_a_change_can_be_guarded_by_an_etag_which_a_message_does_not_change(program, new_chat):
    here = f"conversations/{new_chat['id']}"
    program("POST", f"{here}/messages", {"content": "Hello", "reply": False})
    tag = f'"{new_chat["etag"]}"'
    assert program("PATCH", here, {"title": "Cake"}, if_match=tag).status_code == 200
    assert program("PATCH", here, {"title": "Buns"}, if_match=tag).status_code == 412
    assert Conversation.objects.get().title == "Cake"


def test_all_changes_are_made_or_none(program, new_chat):
    answer = program("PATCH", f"conversations/{new_chat['id']}", {"title": "Cake", "app": "nowhere"})
    assert answer.status_code == 404
    assert Conversation.objects.get().title == "Bread"


def test_deleting_can_be_undone(program, new_chat):
    gone = program("DELETE", f"conversations/{new_chat['id']}")
    assert program("GET", f"conversations/{new_chat['id']}").status_code == 404
    assert program("GET", "conversations").json()["total"] == 0
    assert program("DELETE", f"conversations/{new_chat['id']}").json() == gone.json()
    undone = program("POST", gone.json()["undo"]).json()
    assert undone["conversation"] == new_chat["id"]
    assert program("GET", f"conversations/{new_chat['id']}").status_code == 200


def test_deleting_with_an_outdated_etag_is_refused(program, new_chat, app_memory):
    for path in (f"conversations/{new_chat['id']}", f"apps/general/memories/{app_memory.pk}"):
        etag = f'"{program("GET", path).json()["etag"]}"'
        assert program("DELETE", path, if_match='"another"').status_code == 412
        assert program("GET", path).status_code == 200
        gone = program("DELETE", path, if_match=etag)
        assert gone.status_code == 200
        assert program("DELETE", path, if_match=etag).json() == gone.json()


def test_learned_facts_can_be_deleted_with_the_conversation(program, new_chat, make_fact):
    fact = make_fact("I bake rye.", source_conversation_id=new_chat["id"])
    program("DELETE", f"conversations/{new_chat['id']}?memories=true")
    assert program("GET", f"facts/{fact.pk}").status_code == 404


def test_ending_says_whether_the_conversation_was_open(program, new_chat):
    assert program("POST", f"conversations/{new_chat['id']}/end").json() == {"ended": True}
    assert program("POST", f"conversations/{new_chat['id']}/end").json() == {"ended": False}


def test_history_is_hidden_from_the_model_and_shown_again(program, new_chat):
    here = f"conversations/{new_chat['id']}"
    assert program("POST", f"{here}/clear").status_code == 409
    program("POST", f"{here}/messages", {"content": "Hello", "reply": False})
    assert program("POST", f"{here}/clear").status_code == 200
    assert Conversation.objects.get().cleared_through == 1
    assert program("DELETE", f"{here}/clear").status_code == 200
    assert Conversation.objects.get().cleared_through == 0
    assert len(program("GET", f"{here}/messages").json()["items"]) == 1


def test_pruning_deletes_old_conversations_and_keeps_pinned_ones(program, new_chat, owner):
    # No scope allows it.
    program = Program(authorization=f"Bearer {create_full_token(owner, 'full')}")
    old = timezone.now() - timedelta(days=40)
    pinned = program("POST", "conversations", {"title": "Pinned"}).json()
    program("PATCH", f"conversations/{pinned['id']}", {"pinned": True})
    Conversation.objects.update(updated_at=old)
    assert program("POST", "conversations/prune", {"days": 30}).json() == {"deleted": 1}
    assert [c["title"] for c in program("GET", "conversations").json()["items"]] == ["Pinned"]
    assert program("POST", "conversations/prune", {"days": 0}).status_code == 422


def test_an_app_is_created_and_changed_and_archived_and_restored(program):
    made = program("POST", "apps", {"name": "Recipes", "persona": "You are a cook.", "strategy": "simple"})
    assert (made.status_code, made.json()["app_id"]) == (201, "recipes")
    tag = made.headers["ETag"]
    assert program("PATCH", "apps/recipes", {"name": "Food"}, if_match=tag).json()["name"] == "Food"
    assert program("PATCH", "apps/recipes", {"name": "Tea"}, if_match=tag).status_code == 412
    assert program("GET", f"apps/{made.json()['id']}").json()["persona"] == "You are a cook."
    assert program("POST", "apps/recipes/archive", {}).json()["deletion"] is None
    assert [a["app_id"] for a in program("GET", "apps?archived=true").json()["items"]] == ["recipes"]
    assert program("POST", "apps/recipes/bring-back").json()["archived_at"] is None
    assert program("GET", "apps").json()["total"] == 2


def test_the_only_app_cannot_be_archived(program, new_chat):
    assert program("POST", "apps/general/archive", {}).status_code == 409


@pytest.fixture
def app_memory(owner, new_chat):
    conversation = Conversation.objects.get()
    return AppMemory.objects.create(
        owner=owner,
        app=conversation.app,
        content="The user bakes bread.",
        source_conversation=conversation,
        metadata={"importance": 5},
    )


@pytest.mark.parametrize("app_id", ["nowhere", "%00", "%F0%9F%8D%9E", "general%00"])
def test_an_unknown_app_is_404_for_any_spelling(program, app_id):
    assert program("GET", f"apps/{app_id}").status_code == 404


@pytest.mark.parametrize("app_id", ["nowhere", "%00", "%F0%9F%8D%9E", "x%00y"])
def test_conversations_of_an_unknown_app_are_404(program, app_id):
    assert program("GET", f"conversations?app={app_id}").status_code == 404


def test_app_memories_have_the_documented_fields(program, app_memory, new_chat):
    [memory] = program("GET", "apps/general/memories").json()["memories"]
    assert memory["content"] == "The user bakes bread."
    assert memory["sourceConversationId"] == new_chat["id"]
    assert {"id", "createdAt", "updatedAt", "metadata"} <= memory.keys()
    assert program("GET", f"apps/general/memories/{app_memory.pk}").json() == memory


def test_editing_an_app_memory_needs_its_etag(program, app_memory):
    here = f"apps/general/memories/{app_memory.pk}"
    assert program("PATCH", here, {"content": "The user bakes rye."}).status_code == 428
    tag = program("GET", here).headers["ETag"]
    edited = program("PATCH", here, {"content": "The user bakes rye."}, if_match=tag)
    assert edited.json()["content"] == "The user bakes rye."
    assert program("PATCH", here, {"content": "No."}, if_match=tag).status_code == 412


def test_forgetting_app_memories_can_be_undone(program, app_memory):
    gone = program("DELETE", f"apps/general/memories/{app_memory.pk}").json()
    assert (gone["success"], gone["deletedCount"]) == (True, 1)
    assert program("GET", "apps/general/memories").json() == {"memories": []}
    assert program("DELETE", f"apps/general/memories/{app_memory.pk}").json() == gone
    blocked = program("PATCH", f"apps/general/memories/{app_memory.pk}", {"content": "No."}, if_match="*")
    assert (blocked.status_code, blocked.json()["undo"]) == (409, gone["deletion"]["undo"])
    assert program("POST", gone["deletion"]["undo"]).json()["app_memories"] == 1
    gone = program("DELETE", "apps/general/memories").json()
    assert gone["deletedCount"] == 1
    assert program("DELETE", "apps/general/memories").json() == gone
    assert program("POST", gone["deletion"]["undo"]).json()["app_memories"] == 1
    app_memory.delete()
    assert program("DELETE", "apps/general/memories").status_code == 409


def test_an_app_memory_is_found_only_in_its_app(program, owner, app_memory):
    apps.create_app(owner, "Recipes")
    assert program("GET", f"apps/recipes/memories/{app_memory.pk}").status_code == 404
    assert program("DELETE", f"apps/recipes/memories/{app_memory.pk}").status_code == 404
    assert AppMemory.objects.live().count() == 1


def test_archiving_an_app_can_purge_its_memories(program, owner, app_memory):
    apps.create_app(owner, "Recipes")
    gone = program("POST", "apps/general/archive", {"purge": True}).json()
    assert gone["deletion"]["state"] == "pending"
    assert not AppMemory.objects.live().exists()
    assert program("POST", "apps/general/archive", {"purge": True}).json()["deletion"] == gone["deletion"]


def test_memory_stays_off_in_a_temporary_chat(program):
    new_chat = program("POST", "conversations", {"temporary": True, "memory_mode": "on"}).json()
    answer = program("PATCH", f"conversations/{new_chat['id']}", {"memory_mode": "on"})
    assert (answer.status_code, Conversation.objects.get().memory_mode) == (422, MemoryMode.OFF)


def test_no_conversation_starts_in_or_moves_to_an_archived_app(program, owner):
    work = apps.create_app(owner, "Work")
    apps.create_app(owner, "Recipes")
    apps.archive_app(work)
    answer = program("POST", "conversations", {"app": "work"})
    assert (answer.status_code, Conversation.objects.count()) == (422, 0)
    assert "“Work” has been put away. Bring it back first." in str(answer.json())
    new_chat = program("POST", "conversations", {}).json()
    where = f"conversations/{new_chat['id']}"
    assert program("PATCH", where, {"app": str(work.pk)}, if_match="*").status_code == 422
    assert program("GET", where).json() == new_chat
