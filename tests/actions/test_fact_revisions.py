"""A fact's history can be listed and any earlier state restored, except for deleted facts."""

from __future__ import annotations

import pytest

from chat.actions import archive, deletions, extraction
from chat.actions.fact_history import list_history, restore_fact
from chat.actions.facts import add_fact, edit_fact, pin_fact
from chat.errors import PendingDeletion, Refused
from chat.memory.candidates import Extraction, FactCandidate
from chat.models import Fact, FactEvent, Job

pytestmark = pytest.mark.django_db


@pytest.fixture
def learn_fact(talk, clock):
    """Return a function that records one fact as extracted from a new message."""

    def record_fact(text: str, kind: str = "home", category: str = "identity") -> Fact:
        clock(60)
        asked, reply = talk(text)
        type(reply).objects.filter(pk=reply.pk).update(state="complete")
        candidate = FactCandidate(text, kind, category, "", hedged=False, quote=text)
        extraction.record_extraction(asked, Extraction([candidate]), [None], "", 0.1)
        return Fact.objects.live().get(text=text)

    return record_fact


def latest_event(fact: Fact, kind: str) -> FactEvent:
    return FactEvent.objects.filter(fact=fact, kind=kind).latest("created_at")


def test_history_lists_all_events_of_the_chain_oldest_first(learn_fact, clock):
    oslo = learn_fact("User lives in Oslo")
    clock(1)
    edit_fact(oslo, "User lives in Oslo now")
    bergen = learn_fact("User lives in Bergen")
    clock(1)
    pin_fact(bergen, True)
    history = list_history(bergen)
    assert sorted(e.kind for e in history[2:4]) == ["add", "supersede"]
    assert [e.kind for e in (*history[:2], *history[4:])] == ["add", "edit", "pin"]
    edit = history[1]
    assert (edit.actor, edit.fact) == ("user", oslo)
    assert (edit.before["text"], edit.after["text"]) == ("User lives in Oslo", "User lives in Oslo now")
    assert history[0].source_message == oslo.source_message
    assert latest_event(oslo, "supersede").reason == "one home at a time"


def test_history_of_a_fact_pending_deletion_is_empty(owner, learn_fact):
    oslo = learn_fact("User lives in Oslo")
    deletions.forget_facts(owner, [oslo.pk])
    assert list_history(oslo) == []


def test_consecutive_decay_events_are_merged_into_one(clock, owner):
    fact = add_fact(owner, "I like tea")
    for before, left in ((0.6, 0.59), (0.59, 0.58), (0.58, 0.57)):
        clock(86400)
        states = {"before": {"confidence": before}, "after": {"confidence": left}}
        FactEvent.objects.create(fact=fact, kind="decay", actor="system", **states)
    add, decay = list_history(fact)
    assert (add.kind, decay.kind) == ("add", "decay")
    assert (decay.before, decay.after) == ({"confidence": 0.6}, {"confidence": 0.57})


def test_an_earlier_text_is_restored_with_its_kind_and_category(clock, make_fact):
    fact = make_fact("User lives in Oslo", kind="home", category="identity", embedding=b"1234", embedder="e")
    clock(1)
    first = latest_event(edit_fact(fact, "User lives in Oslo now"), "edit")
    clock(1)
    edit_fact(fact, "User likes Bergen", "preference")
    restored = restore_fact(fact, first)
    assert (restored.text, restored.kind, restored.category) == ("User lives in Oslo now", "home", "identity")
    assert (restored.version, restored.embedding, restored.embedder) == (4, None, "")
    event = latest_event(fact, "restore")
    assert (event.actor, event.before["text"]) == ("user", "User likes Bergen")
    assert event.after["text"] == "User lives in Oslo now"
    assert Job.objects.filter(kind="settle", payload__version=4).exists()


def test_a_restored_fact_keeps_its_kind_when_its_vector_is_computed(clock, owner, scripted):
    from chat.jobs.runner import run_due

    fact = add_fact(owner, "I love hiking")
    point = latest_event(fact, "add")
    edit_fact(fact, "I love long hikes")
    restored = restore_fact(fact, point)
    scripted.completions.append("home: User lives in Oslo")
    assert run_due(["settle"]) >= 1
    restored.refresh_from_db()
    assert (restored.kind, restored.category) == ("likes", "preference")
    assert scripted.calls == []


def test_restoring_a_superseded_value_supersedes_its_replacement(learn_fact):
    oslo = learn_fact("User lives in Oslo")
    bergen = learn_fact("User lives in Bergen")
    pin_fact(bergen, True)
    restored = restore_fact(bergen, latest_event(oslo, "add"))
    assert restored == oslo == Fact.objects.live().get()
    bergen.refresh_from_db()
    assert (restored.supersedes, restored.pinned, bergen.pinned) == (bergen, True, False)
    assert (restored.version, bergen.supersedes) == (2, None)
    # The text is unchanged, so its vector stays valid and no job is queued.
    assert not Job.objects.filter(kind="settle").exists()


def test_repeated_restores_create_no_supersession_cycle(learn_fact):
    oslo, bergen, rome = (learn_fact(f"User lives in {city}") for city in ("Oslo", "Bergen", "Rome"))
    for fact in (oslo, bergen, rome, oslo, rome):
        live = Fact.objects.live().get()
        if live != fact:
            assert restore_fact(live, latest_event(fact, "add")) == fact
    chain: list[Fact] = []
    at: Fact | None = Fact.objects.live().get()
    while at is not None:
        chain.append(at)
        at = at.supersedes
    assert len(chain) == 3
    assert set(chain) == {oslo, bergen, rome}


def test_restoring_a_fact_supersedes_its_opposite(learn_fact):
    likes = learn_fact("User likes chess", "likes", "preference")
    dislikes = learn_fact("User dislikes chess", "dislikes", "preference")
    restore_fact(dislikes, latest_event(likes, "add"))
    assert [fact.text for fact in Fact.objects.live()] == ["User likes chess"]


def test_restoring_a_fact_merged_by_an_edit_makes_both_live(make_fact, clock):
    go = make_fact("User likes go")
    chess = make_fact("User likes chess")
    edit_fact(go, "User likes chess")
    restored = restore_fact(chess, latest_event(go, "supersede"))
    assert restored == go
    assert set(Fact.objects.live()) == {go, chess}
    chess.refresh_from_db()
    assert chess.supersedes is None


def test_restoring_a_text_that_another_live_fact_has_is_refused(owner, clock):
    fact = add_fact(owner, "I like go")
    point = latest_event(fact, "add")
    edit_fact(fact, "I like chess")
    add_fact(owner, "I like go")
    with pytest.raises(Refused, match="already"):
        restore_fact(fact, point)
    assert Fact.objects.live().count() == 2


def test_a_fact_pending_deletion_is_not_restored(owner, learn_fact):
    oslo = learn_fact("User lives in Oslo")
    bergen = learn_fact("User lives in Bergen")
    deletions.forget_facts(owner, [bergen.pk])
    for fact in (oslo, bergen):
        with pytest.raises(PendingDeletion):
            restore_fact(bergen, latest_event(fact, "add"))


def test_restoring_an_archived_fact_unarchives_it(clock, owner):
    fact = add_fact(owner, "I like go")
    point = latest_event(fact, "add")
    edit_fact(fact, "I like chess")
    Fact.objects.update(archived_at=clock(60))
    restored = restore_fact(fact, point)
    assert (restored.text, restored in Fact.objects.live()) == ("I like go", True)
    Fact.objects.update(archived_at=clock(60))
    clock(31 * 86400)
    with pytest.raises(Refused, match="archive"):
        restore_fact(fact, point)


def test_a_deleted_text_cannot_be_restored(clock, owner, make_fact):
    fact = edit_fact(make_fact("User likes chess"), "User likes go")
    point = latest_event(fact, "edit")
    edit_fact(fact, "User likes tea")
    deletion = deletions.forget_facts(owner, [make_fact("user likes GO").pk])
    deletions.finish_deletion(deletion.pk, clock(5))
    point.refresh_from_db()
    with pytest.raises(Refused, match="has been erased"):
        restore_fact(fact, point)


def test_an_event_of_another_history_is_refused(owner, other, make_fact):
    fact, stranger = add_fact(owner, "I like tea"), add_fact(other, "I like go")
    for wrong in (stranger, add_fact(owner, "I like chess")):
        with pytest.raises(Refused, match="not a point"):
            restore_fact(fact, latest_event(wrong, "add"))


def test_restoring_keeps_the_cap(clock, owner, make_fact):
    dislikes = make_fact("User dislikes go", superseded_at=clock(0), kind="dislikes")
    keeper = make_fact("User likes go", supersedes=dislikes)
    FactEvent.objects.create(fact=dislikes, kind="add", actor="user", after=take_snapshot(dislikes))
    for i in range(149):
        make_fact(f"User likes number {i}")
    restored = restore_fact(keeper, latest_event(dislikes, "add"))
    assert Fact.objects.live().count() == 150
    assert restored in Fact.objects.live()
    assert archive.Fact.objects.archived().count() == 1


def take_snapshot(fact: Fact) -> dict[str, object]:
    from chat.actions.fact_events import snapshot

    return snapshot(fact)
