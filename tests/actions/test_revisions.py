"""The history of a fact can be read, and any point of it restored; nothing of a forgotten one."""

from __future__ import annotations

import pytest

from chat.actions import archive, deletions, looks
from chat.actions.facts import OnItsWayOut, add_fact, edit_fact, pin_fact
from chat.actions.messages import Refused
from chat.actions.revisions import history, restore_to
from chat.memory.extract import Candidate, Extraction
from chat.models import Fact, FactEvent, Job

pytestmark = pytest.mark.django_db


@pytest.fixture
def learn(talk, clock):
    """Returns a teacher of one fact through a message."""

    def teach(text: str, kind: str = "home", category: str = "identity") -> Fact:
        clock(60)
        asked, reply = talk(text)
        type(reply).objects.filter(pk=reply.pk).update(state="complete")
        candidate = Candidate(text, kind, category, "", hedged=False, quote=text)
        looks.record_look(asked, Extraction([candidate]), [None], "", 0.1)
        return Fact.objects.live().get(text=text)

    return teach


def event_of(fact: Fact, kind: str) -> FactEvent:
    return FactEvent.objects.filter(fact=fact, kind=kind).latest("created_at")


def test_it_tells_everything_that_happened_oldest_first(learn, clock):
    oslo = learn("User lives in Oslo")
    clock(1)
    edit_fact(oslo, "User lives in Oslo now")
    bergen = learn("User lives in Bergen")
    clock(1)
    pin_fact(bergen, True)
    told = history(bergen)
    assert sorted(e.kind for e in told[2:4]) == ["add", "supersede"]
    assert [e.kind for e in (*told[:2], *told[4:])] == ["add", "edit", "pin"]
    edit = told[1]
    assert (edit.actor, edit.fact) == ("user", oslo)
    assert (edit.before["text"], edit.after["text"]) == ("User lives in Oslo", "User lives in Oslo now")
    assert told[0].source_message == oslo.source_message
    assert event_of(oslo, "supersede").reason == "one home at a time"


def test_it_tells_nothing_of_what_is_being_forgotten(owner, learn):
    oslo = learn("User lives in Oslo")
    deletions.forget(owner, [oslo.pk])
    assert history(oslo) == []


def test_days_of_fading_in_a_row_are_one_entry(clock, owner):
    fact = add_fact(owner, "I like tea")
    for before, left in ((0.6, 0.59), (0.59, 0.58), (0.58, 0.57)):
        clock(86400)
        states = {"before": {"confidence": before}, "after": {"confidence": left}}
        FactEvent.objects.create(fact=fact, kind="decay", actor="system", **states)
    add, decay = history(fact)
    assert (add.kind, decay.kind) == ("add", "decay")
    assert (decay.before, decay.after) == ({"confidence": 0.6}, {"confidence": 0.57})


def test_an_earlier_wording_is_restored_with_its_kind_and_shelf(clock, make_fact):
    fact = make_fact("User lives in Oslo", kind="home", category="identity", embedding=b"1234", embedder="e")
    clock(1)
    first = event_of(edit_fact(fact, "User lives in Oslo now"), "edit")
    clock(1)
    edit_fact(fact, "User likes Bergen", "preference")
    restored = restore_to(fact, first)
    assert (restored.text, restored.kind, restored.category) == ("User lives in Oslo now", "home", "identity")
    assert (restored.version, restored.embedding, restored.embedder) == (4, None, "")
    event = event_of(fact, "restore")
    assert (event.actor, event.before["text"]) == ("user", "User likes Bergen")
    assert event.after["text"] == "User lives in Oslo now"
    assert Job.objects.filter(kind="settle", payload__version=4).exists()


def test_a_restored_fact_keeps_its_kind_when_its_vector_is_made(clock, owner, scripted):
    from chat.jobs.runner import run_due

    fact = add_fact(owner, "I love hiking")
    point = event_of(fact, "add")
    edit_fact(fact, "I love long hikes")
    restored = restore_to(fact, point)
    scripted.completions.append("home: User lives in Oslo")
    assert run_due(["settle"]) >= 1
    restored.refresh_from_db()
    assert (restored.kind, restored.category) == ("likes", "preference")
    assert scripted.calls == []


def test_a_replaced_value_is_live_again_and_its_replacement_superseded(learn):
    oslo = learn("User lives in Oslo")
    bergen = learn("User lives in Bergen")
    pin_fact(bergen, True)
    restored = restore_to(bergen, event_of(oslo, "add"))
    assert restored == oslo == Fact.objects.live().get()
    bergen.refresh_from_db()
    assert (restored.supersedes, restored.pinned, bergen.pinned) == (bergen, True, False)
    assert (restored.version, bergen.supersedes) == (2, None)
    # The vector of unchanged words is still right.
    assert not Job.objects.filter(kind="settle").exists()


def test_going_to_and_fro_makes_no_ring(learn):
    oslo, bergen, rome = (learn(f"User lives in {city}") for city in ("Oslo", "Bergen", "Rome"))
    for fact in (oslo, bergen, rome, oslo, rome):
        live = Fact.objects.live().get()
        if live != fact:
            assert restore_to(live, event_of(fact, "add")) == fact
    chain: list[Fact] = []
    at: Fact | None = Fact.objects.live().get()
    while at is not None:
        chain.append(at)
        at = at.supersedes
    assert len(chain) == 3
    assert set(chain) == {oslo, bergen, rome}


def test_of_opposites_only_the_restored_one_holds(learn):
    likes = learn("User likes chess", "likes", "preference")
    dislikes = learn("User dislikes chess", "dislikes", "preference")
    restore_to(dislikes, event_of(likes, "add"))
    assert [fact.text for fact in Fact.objects.live()] == ["User likes chess"]


def test_what_made_way_by_an_edit_stands_beside_the_other_again(make_fact, clock):
    go = make_fact("User likes go")
    chess = make_fact("User likes chess")
    edit_fact(go, "User likes chess")
    restored = restore_to(chess, event_of(go, "supersede"))
    assert restored == go
    assert set(Fact.objects.live()) == {go, chess}
    chess.refresh_from_db()
    assert chess.supersedes is None


def test_what_is_known_as_a_memory_of_its_own_is_not_restored(owner, clock):
    fact = add_fact(owner, "I like go")
    point = event_of(fact, "add")
    edit_fact(fact, "I like chess")
    add_fact(owner, "I like go")
    with pytest.raises(Refused, match="already"):
        restore_to(fact, point)
    assert Fact.objects.live().count() == 2


def test_a_fact_on_its_way_out_is_not_restored(owner, learn):
    oslo = learn("User lives in Oslo")
    bergen = learn("User lives in Bergen")
    deletions.forget(owner, [bergen.pk])
    for fact in (oslo, bergen):
        with pytest.raises(OnItsWayOut):
            restore_to(bergen, event_of(fact, "add"))


def test_an_archived_fact_comes_back_first(clock, owner):
    fact = add_fact(owner, "I like go")
    point = event_of(fact, "add")
    edit_fact(fact, "I like chess")
    Fact.objects.update(archived_at=clock(60))
    restored = restore_to(fact, point)
    assert (restored.text, restored in Fact.objects.live()) == ("I like go", True)
    Fact.objects.update(archived_at=clock(60))
    clock(31 * 86400)
    with pytest.raises(Refused, match="archive"):
        restore_to(fact, point)


def test_a_forgotten_wording_cannot_be_restored(clock, owner, make_fact):
    fact = edit_fact(make_fact("User likes chess"), "User likes go")
    point = event_of(fact, "edit")
    edit_fact(fact, "User likes tea")
    deletion = deletions.forget(owner, [make_fact("user likes GO").pk])
    deletions.finish(deletion.pk, clock(5))
    point.refresh_from_db()
    with pytest.raises(Refused, match="forgotten"):
        restore_to(fact, point)


def test_a_point_of_another_history_is_refused(owner, other, make_fact):
    fact, stranger = add_fact(owner, "I like tea"), add_fact(other, "I like go")
    for wrong in (stranger, add_fact(owner, "I like chess")):
        with pytest.raises(Refused, match="not a point"):
            restore_to(fact, event_of(wrong, "add"))


def test_restoring_keeps_the_cap(clock, owner, make_fact):
    dislikes = make_fact("User dislikes go", superseded_at=clock(0), kind="dislikes")
    keeper = make_fact("User likes go", supersedes=dislikes)
    FactEvent.objects.create(fact=dislikes, kind="add", actor="user", after=after(dislikes))
    for i in range(149):
        make_fact(f"User likes number {i}")
    restored = restore_to(keeper, event_of(dislikes, "add"))
    assert Fact.objects.live().count() == 150
    assert restored in Fact.objects.live()
    assert archive.Fact.objects.archived().count() == 1


def after(fact: Fact) -> dict[str, object]:
    from chat.actions.history import snapshot

    return snapshot(fact)
