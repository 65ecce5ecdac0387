"""Facts that the user writes, corrects and pins by hand, each change with its history."""

from __future__ import annotations

import pytest

from chat.actions import deletions
from chat.actions import facts as actions
from chat.actions.messages import Refused
from chat.memory.secrets import REDACTED
from chat.models import Fact, FactEvent, Job

pytestmark = pytest.mark.django_db


def only_event(fact: Fact) -> FactEvent:
    return FactEvent.objects.get(fact=fact)


def test_an_added_fact_is_live_at_once_less_sure_than_a_learned_one_and_sorted_later(owner):
    fact = actions.add_fact(owner, "  I love\n hiking  ")
    assert Fact.objects.for_owner(owner).live().get() == fact
    assert (fact.text, fact.confidence, fact.origin) == ("I love hiking", 0.6, "manual")
    job = Job.objects.get()
    assert (job.kind, job.payload) == ("settle", {"fact": str(fact.pk), "version": 1})


def test_adding_leaves_one_event_with_nothing_before_and_the_fact_after(owner):
    event = only_event(actions.add_fact(owner, "I love hiking"))
    assert (event.kind, event.actor, event.before) == ("add", "user", {})
    assert event.after["text"] == "I love hiking"


def test_adding_the_same_again_reinforces_it_and_leaves_one_fact(owner):
    first = actions.add_fact(owner, "I love hiking")
    again = actions.add_fact(owner, "i love HIKING.")
    assert again == first
    assert Fact.objects.count() == 1
    assert (again.mention_count, again.confidence) == (2, 0.85)
    event = FactEvent.objects.get(kind="reinforce")
    assert (event.before["mention_count"], event.after["mention_count"]) == (1, 2)


def test_confidence_never_passes_one(owner):
    for _ in range(5):
        fact = actions.add_fact(owner, "I love hiking")
    assert fact.confidence == 1.0


def test_what_another_person_knows_is_no_duplicate(owner, other):
    actions.add_fact(owner, "I love hiking")
    assert actions.add_fact(other, "I love hiking").mention_count == 1


@pytest.mark.parametrize("text", ["", "  \n\t ", "\x00"])
def test_an_empty_fact_is_refused_with_a_sentence(owner, text):
    with pytest.raises(Refused, match="Write what to remember"):
        actions.add_fact(owner, text)
    assert not Fact.objects.exists()


def test_a_fact_longer_than_300_characters_is_refused_with_a_sentence(owner):
    assert len(actions.add_fact(owner, "x" * 300).text) == 300
    with pytest.raises(Refused, match="at most 300 characters"):
        actions.add_fact(owner, "x" * 301)
    with pytest.raises(Refused, match="at most 300 characters"):
        actions.edit_fact(Fact.objects.get(), "x" * 301)


def test_a_secret_is_not_kept_neither_added_nor_edited(owner):
    fact = actions.add_fact(owner, "My password is hunter22")
    assert "hunter22" not in fact.text
    assert REDACTED in fact.text
    edited = actions.edit_fact(fact, "My API key is sk-abcdefgh12345678")
    assert "abcdefgh" not in edited.text
    assert "hunter22" not in str(list(FactEvent.objects.values("before", "after")))
    assert "abcdefgh" not in str(list(FactEvent.objects.values("before", "after")))


def test_an_edit_leaves_one_event_with_before_and_after(make_fact):
    fact = make_fact("User lives in Oslo", category="identity", kind="home")
    edited = actions.edit_fact(fact, "User lives in Bergen")
    event = only_event(fact)
    assert (event.kind, event.actor) == ("edit", "user")
    assert (event.before["text"], event.after["text"]) == ("User lives in Oslo", "User lives in Bergen")
    assert edited.version == 2


def test_an_edit_forgets_the_vector_of_the_old_words_and_has_the_new_ones_sorted(make_fact):
    fact = make_fact("User lives in Oslo", embedding=b"1234", embedder="some-embedder")
    edited = actions.edit_fact(fact, "User lives in Bergen")
    assert (edited.embedding, edited.embedder) == (None, "")
    assert Job.objects.get().payload["version"] == 2


def test_saving_an_unchanged_text_changes_nothing(make_fact):
    fact = make_fact("User lives in Oslo")
    assert actions.edit_fact(fact, " User lives in  Oslo ").version == 1
    assert not FactEvent.objects.exists()


@pytest.mark.parametrize("category", ["project", "preference", "identity"])
def test_a_fact_moved_to_another_shelf_has_a_kind_of_that_shelf(make_fact, category):
    from chat.memory.kinds import KINDS

    fact = make_fact("User lives in Oslo", category="identity", kind="home")
    moved = actions.edit_fact(fact, fact.text, category)
    assert moved.category == KINDS[moved.kind].category == category


def test_an_unknown_shelf_is_refused(make_fact):
    with pytest.raises(Refused, match="project, preference or identity"):
        actions.edit_fact(make_fact("User lives in Oslo"), "User lives in Oslo", "secrets")


def test_pinning_and_unpinning_leave_an_event_each(make_fact):
    fact = make_fact("User likes chess")
    assert actions.pin_fact(fact, True).pinned
    assert not actions.pin_fact(fact, False).pinned
    assert [(e.kind, e.before["pinned"], e.after["pinned"]) for e in FactEvent.objects.all()] == [
        ("pin", False, True),
        ("unpin", True, False),
    ]


def test_pinning_twice_is_pinning_once(make_fact):
    fact = make_fact("User likes chess")
    actions.pin_fact(fact, True)
    actions.pin_fact(fact, True)
    assert only_event(fact).kind == "pin"


def test_the_eleventh_pin_is_refused_with_a_sentence(make_fact):
    for i in range(10):
        make_fact(f"User likes {i}", pinned=True)
    with pytest.raises(Refused, match="10 memories are pinned"):
        actions.pin_fact(make_fact("User likes chess"), True)
    assert Fact.objects.filter(pinned=True).count() == 10


def test_a_pin_on_its_way_out_keeps_its_place_under_the_cap(owner, make_fact):
    pinned = [make_fact(f"User likes {i}", pinned=True) for i in range(10)]
    deletions.forget(owner, [pinned[0].pk])
    with pytest.raises(Refused, match="10 memories are pinned"):
        actions.pin_fact(make_fact("User likes chess"), True)


def test_another_persons_pins_do_not_count(other, make_fact):
    for i in range(10):
        make_fact(f"User likes {i}", pinned=True, owner=other)
    assert actions.pin_fact(make_fact("User likes chess"), True).pinned


@pytest.mark.parametrize(
    "change", [lambda f: actions.edit_fact(f, "Something else"), lambda f: actions.pin_fact(f, True)]
)
def test_a_fact_on_its_way_out_can_only_be_brought_back(owner, make_fact, change):
    fact = make_fact("User likes chess")
    deletions.forget(owner, [fact.pk])
    with pytest.raises(actions.OnItsWayOut, match="being forgotten"):
        change(fact)
    fact.refresh_from_db()
    assert (fact.text, fact.pinned) == ("User likes chess", False)


def test_what_the_model_found_out_is_written_and_recorded_once(owner):
    fact = actions.add_fact(owner, "Tea in the morning")
    how = {"kind": "habit", "subject": "", "vector": b"\x00" * 4, "embedder": "e"}
    actions.settle(fact.pk, 1, **how)
    actions.settle(fact.pk, 1, **how)
    fact.refresh_from_db()
    assert (fact.kind, fact.category, bytes(fact.embedding)) == ("habit", "preference", b"\x00" * 4)
    assert FactEvent.objects.filter(kind="update").count() <= 1


def test_what_the_model_found_out_about_older_words_is_dropped(owner):
    fact = actions.edit_fact(actions.add_fact(owner, "Tea in the morning"), "Coffee in the morning")
    actions.settle(fact.pk, 1, kind="job", subject="", vector=b"1", embedder="e")
    fact.refresh_from_db()
    assert fact.kind != "job"
    assert fact.embedding is None


def test_what_the_user_has_sorted_is_not_sorted_again_by_the_model(owner):
    fact = actions.edit_fact(actions.add_fact(owner, "Chess"), "Chess club", "identity")
    actions.settle(fact.pk, 2, kind="likes", subject="", vector=None, embedder="")
    fact.refresh_from_db()
    assert fact.category == "identity"
