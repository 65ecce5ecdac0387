"""GET /api/recall returns sentences of past conversations, without those that a prompt may not quote."""

from __future__ import annotations

import pytest

from chat.actions import deletions, owners
from chat.actions.apps import create_app
from chat.models import MemoryMode
from tests.api.rest.conftest import with_token

CHOSEN = ("Which name shall the bread course have?", "We settled on Slow Dough for the bread course.")
PATH = "recall?question=Which+name+did+we+choose+for+the+bread+course"


@pytest.fixture
def recall(owner):
    """Return a function that calls the endpoint with a token of a user and returns the sentences' texts."""

    def ask(path: str = PATH, user=owner) -> list[str]:
        answer = with_token(user, path[-9:])("GET", path)
        assert answer.status_code == 200
        return [one["text"] for one in answer.json()["sentences"]]

    return ask


def test_the_best_sentence_comes_first_with_its_place(remember, owner):
    remember("My boat needs a new sail.", "Then measure the old one.")
    chat = remember(*CHOSEN, title="Bread")
    best = with_token(owner)("GET", PATH).json()["sentences"][0]
    assert best["text"] == CHOSEN[1]
    assert (best["role"], best["title"], best["conversation"]) == ("assistant", "Bread", str(chat.pk))


def test_an_app_is_asked_on_its_own(remember, owner, recall):
    remember(*CHOSEN, app=create_app(owner, "Work"))
    assert recall() == []
    assert CHOSEN[1] in recall(f"{PATH}&app=work")
    assert with_token(owner, "another")("GET", f"{PATH}&app=nowhere").status_code == 404


def test_other_owners_find_nothing(remember, other, recall):
    remember(*CHOSEN)
    assert recall(user=other) == []


@pytest.mark.parametrize("fields", [{"temporary": True}, {"memory_mode": MemoryMode.OFF}])
def test_a_conversation_without_memory_is_left_out(remember, recall, fields):
    remember(*CHOSEN, **fields)
    assert recall() == []


def test_a_deleted_conversation_is_left_out_at_once(remember, recall):
    deletions.delete_conversation(remember(*CHOSEN))
    assert recall() == []


def test_nothing_is_told_where_past_chats_are_switched_off(remember, owner, recall):
    remember(*CHOSEN)
    owners.set_past_chats(owner, "off")
    assert recall() == []


@pytest.mark.parametrize("path", ["recall", "recall?question=", f"recall?question={'a' * 501}"])
def test_a_question_has_1_to_500_characters(owner, path):
    assert with_token(owner)("GET", path).status_code == 422


def test_without_a_token_nothing_is_told(remember, client, settings):
    remember(*CHOSEN)
    settings.MODE = "server"
    assert client.get(f"/api/{PATH}").status_code in (401, 403)
