"""Conversations for programs: begun, listed, changed, ended, deleted and pruned."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from chat.actions import apps
from chat.models import AppMemory, Conversation, MemoryMode

pytestmark = pytest.mark.django_db


@pytest.fixture
def begun(program):
    return program("POST", "conversations", {"title": "Bread"}).json()


def test_a_conversation_is_begun_with_all_its_choices(program, owner):
    app = apps.create(owner, "Recipes")
    wanted = {
        "app": "recipes",
        "title": "Bread",
        "system_prompt": "Be brief.",
        "strategy": "simple",
        "memory_mode": "read_only",
        "metadata": {"source": ["terminal", 7]},
    }
    answer = program("POST", "conversations", wanted)
    assert answer.status_code == 201
    told = answer.json()
    assert {name: told[name] for name in wanted} == wanted
    assert program("GET", f"conversations/{told['id']}").json() == told
    assert Conversation.objects.get().app == app


def test_one_is_begun_in_the_first_app_without_any_choice(program):
    assert program("POST", "conversations", {}).json()["app"] == "general"


def test_a_temporary_one_has_no_memory_and_stands_in_no_list(program):
    begun = program("POST", "conversations", {"temporary": True}).json()
    assert (begun["memory_mode"], begun["temporary"]) == ("off", True)
    assert program("GET", "conversations").json()["total"] == 0
    assert program("POST", f"conversations/{begun['id']}/end").json() == {"ended": True}
    assert program("GET", f"conversations/{begun['id']}").status_code == 404


def test_a_temporary_one_can_be_kept(program):
    begun = program("POST", "conversations", {"temporary": True}).json()
    assert program("POST", f"conversations/{begun['id']}/keep").json() == {"kept": True}
    assert program("POST", f"conversations/{begun['id']}/keep").json() == {"kept": False}
    assert program("GET", "conversations").json()["items"][0]["temporary"] is False


def test_an_app_of_somebody_else_is_not_there(program, other):
    apps.create(other, "Theirs")
    assert program("POST", "conversations", {"app": "theirs"}).status_code == 404
    assert not Conversation.objects.exists()


def test_the_list_has_the_last_written_first_and_can_be_narrowed(program, owner):
    apps.create(owner, "Recipes")
    first = program("POST", "conversations", {"title": "First", "app": "recipes"}).json()
    program("POST", "conversations", {"title": "Second"})
    program("POST", f"conversations/{first['id']}/messages", {"content": "Hello", "reply": False})
    titles = [c["title"] for c in program("GET", "conversations").json()["items"]]
    assert titles == ["First", "Second"]
    assert program("GET", "conversations?app=recipes").json()["total"] == 1
    assert program("GET", "conversations?pinned=true").json()["total"] == 0


def test_its_title_pin_strategy_memory_and_app_can_be_changed(program, owner, begun):
    apps.create(owner, "Recipes")
    wanted = {"title": "Cake", "pinned": True, "strategy": "topics", "memory_mode": "off", "app": "recipes"}
    changed = program("PATCH", f"conversations/{begun['id']}", wanted)
    assert {name: changed.json()[name] for name in wanted} == wanted
    assert program("PATCH", f"conversations/{begun['id']}", {"strategy": None}).json()["strategy"] == ""
    assert program("PATCH", f"conversations/{begun['id']}", {}).json()["title"] == "Cake"


def test_a_change_can_be_guarded_and_a_message_does_not_break_the_guard(program, begun):
    here = f"conversations/{begun['id']}"
    program("POST", f"{here}/messages", {"content": "Hello", "reply": False})
    tag = f'"{begun["etag"]}"'
    assert program("PATCH", here, {"title": "Cake"}, if_match=tag).status_code == 200
    assert program("PATCH", here, {"title": "Buns"}, if_match=tag).status_code == 412
    assert Conversation.objects.get().title == "Cake"


def test_all_changes_are_made_or_none(program, begun):
    answer = program("PATCH", f"conversations/{begun['id']}", {"title": "Cake", "app": "nowhere"})
    assert answer.status_code == 404
    assert Conversation.objects.get().title == "Bread"


def test_deleting_can_be_undone(program, begun):
    gone = program("DELETE", f"conversations/{begun['id']}")
    assert program("GET", f"conversations/{begun['id']}").status_code == 404
    assert program("GET", "conversations").json()["total"] == 0
    assert program("DELETE", f"conversations/{begun['id']}").json() == gone.json()
    undone = program("POST", gone.json()["undo"]).json()
    assert undone["conversation"] == begun["id"]
    assert program("GET", f"conversations/{begun['id']}").status_code == 200


def test_what_has_changed_is_not_deleted_by_whoever_says_what_they_have_seen(program, begun, told):
    for path in (f"conversations/{begun['id']}", f"apps/general/memories/{told.pk}"):
        etag = f'"{program("GET", path).json()["etag"]}"'
        assert program("DELETE", path, if_match='"another"').status_code == 412
        assert program("GET", path).status_code == 200
        gone = program("DELETE", path, if_match=etag)
        assert gone.status_code == 200
        assert program("DELETE", path, if_match=etag).json() == gone.json()


def test_what_was_learned_can_go_with_it(program, begun, make_fact):
    fact = make_fact("I bake rye.", source_conversation_id=begun["id"])
    program("DELETE", f"conversations/{begun['id']}?memories=true")
    assert program("GET", f"facts/{fact.pk}").status_code == 404


def test_ending_says_whether_it_was_open(program, begun):
    assert program("POST", f"conversations/{begun['id']}/end").json() == {"ended": True}
    assert program("POST", f"conversations/{begun['id']}/end").json() == {"ended": False}


def test_history_is_hidden_from_the_model_and_shown_again(program, begun):
    here = f"conversations/{begun['id']}"
    assert program("POST", f"{here}/clear").status_code == 409
    program("POST", f"{here}/messages", {"content": "Hello", "reply": False})
    assert program("POST", f"{here}/clear").status_code == 200
    assert Conversation.objects.get().cleared_through == 1
    assert program("DELETE", f"{here}/clear").status_code == 200
    assert Conversation.objects.get().cleared_through == 0
    assert len(program("GET", f"{here}/messages").json()["items"]) == 1


def test_pruning_deletes_the_old_and_spares_the_pinned(program, begun):
    old = timezone.now() - timedelta(days=40)
    pinned = program("POST", "conversations", {"title": "Pinned"}).json()
    program("PATCH", f"conversations/{pinned['id']}", {"pinned": True})
    Conversation.objects.update(updated_at=old)
    assert program("POST", "conversations/prune", {"days": 30}).json() == {"deleted": 1}
    assert [c["title"] for c in program("GET", "conversations").json()["items"]] == ["Pinned"]
    assert program("POST", "conversations/prune", {"days": 0}).status_code == 422


def test_an_app_is_made_changed_put_away_and_brought_back(program):
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


def test_the_only_app_stays(program, begun):
    assert program("POST", "apps/general/archive", {}).status_code == 409


@pytest.fixture
def told(owner, begun):
    conversation = Conversation.objects.get()
    return AppMemory.objects.create(
        owner=owner,
        app=conversation.app,
        content="The user bakes bread.",
        source_conversation=conversation,
        metadata={"importance": 5},
    )


@pytest.mark.parametrize("app_id", ["nowhere", "%00", "%F0%9F%8D%9E", "general%00"])
def test_an_app_that_is_not_there_is_404_however_it_is_written(program, app_id):
    assert program("GET", f"apps/{app_id}").status_code == 404


@pytest.mark.parametrize("app_id", ["nowhere", "%00", "%F0%9F%8D%9E", "x%00y"])
def test_conversations_of_an_app_that_is_not_there_are_404_too(program, app_id):
    assert program("GET", f"conversations?app={app_id}").status_code == 404


def test_what_an_app_remembers_has_the_seeds_shape(program, told, begun):
    [memory] = program("GET", "apps/general/memories").json()["memories"]
    assert memory["content"] == "The user bakes bread."
    assert memory["sourceConversationId"] == begun["id"]
    assert {"id", "createdAt", "updatedAt", "metadata"} <= memory.keys()
    assert program("GET", f"apps/general/memories/{told.pk}").json() == memory


def test_an_app_memory_is_corrected_with_its_etag(program, told):
    here = f"apps/general/memories/{told.pk}"
    assert program("PATCH", here, {"content": "The user bakes rye."}).status_code == 428
    tag = program("GET", here).headers["ETag"]
    edited = program("PATCH", here, {"content": "The user bakes rye."}, if_match=tag)
    assert edited.json()["content"] == "The user bakes rye."
    assert program("PATCH", here, {"content": "No."}, if_match=tag).status_code == 412


def test_app_memories_are_forgotten_with_undo(program, told):
    gone = program("DELETE", f"apps/general/memories/{told.pk}").json()
    assert (gone["success"], gone["deletedCount"]) == (True, 1)
    assert program("GET", "apps/general/memories").json() == {"memories": []}
    assert program("DELETE", f"apps/general/memories/{told.pk}").json() == gone
    blocked = program("PATCH", f"apps/general/memories/{told.pk}", {"content": "No."}, if_match="*")
    assert (blocked.status_code, blocked.json()["undo"]) == (409, gone["deletion"]["undo"])
    assert program("POST", gone["deletion"]["undo"]).json()["app_memories"] == 1
    gone = program("DELETE", "apps/general/memories").json()
    assert gone["deletedCount"] == 1
    assert program("DELETE", "apps/general/memories").json() == gone
    assert program("POST", gone["deletion"]["undo"]).json()["app_memories"] == 1
    told.delete()
    assert program("DELETE", "apps/general/memories").status_code == 409


def test_a_memory_is_found_only_in_its_app(program, owner, told):
    apps.create(owner, "Recipes")
    assert program("GET", f"apps/recipes/memories/{told.pk}").status_code == 404
    assert program("DELETE", f"apps/recipes/memories/{told.pk}").status_code == 404
    assert AppMemory.objects.live().count() == 1


def test_putting_an_app_away_can_purge_what_it_remembers(program, owner, told):
    apps.create(owner, "Recipes")
    gone = program("POST", "apps/general/archive", {"purge": True}).json()
    assert gone["deletion"]["state"] == "pending"
    assert not AppMemory.objects.live().exists()
    assert program("POST", "apps/general/archive", {"purge": True}).json()["deletion"] == gone["deletion"]


def test_memory_stays_off_in_a_temporary_chat(program):
    begun = program("POST", "conversations", {"temporary": True, "memory_mode": "on"}).json()
    answer = program("PATCH", f"conversations/{begun['id']}", {"memory_mode": "on"})
    assert (answer.status_code, Conversation.objects.get().memory_mode) == (422, MemoryMode.OFF)


def test_none_begins_in_an_app_that_was_put_away_and_none_moves_there(program, owner):
    work = apps.create(owner, "Work")
    apps.create(owner, "Recipes")
    apps.archive(work)
    answer = program("POST", "conversations", {"app": "work"})
    assert (answer.status_code, Conversation.objects.count()) == (422, 0)
    assert "“Work” has been put away. Bring it back first." in str(answer.json())
    begun = program("POST", "conversations", {}).json()
    where = f"conversations/{begun['id']}"
    assert program("PATCH", where, {"app": str(work.pk)}, if_match="*").status_code == 422
    assert program("GET", where).json() == begun
