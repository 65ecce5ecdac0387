"""Facts that the user adds, edits and pins; each change records an event."""

from __future__ import annotations

import pytest

from chat.actions import deletions
from chat.actions import facts as actions
from chat.errors import PendingDeletion, Refused
from chat.memory.secrets import REDACTED
from chat.models import Fact, FactEvent, Job

pytestmark = pytest.mark.django_db


def get_only_event(fact: Fact) -> FactEvent:
    return FactEvent.objects.get(fact=fact)


def test_an_added_fact_is_live_immediately_and_queued_for_classification(owner):
    fact = actions.add_fact(owner, "  I love\n hiking  ")
    assert Fact.objects.for_owner(owner).live().get() == fact
    assert (fact.text, fact.confidence, fact.origin) == ("I love hiking", 0.6, "manual")
    job = Job.objects.get(kind="settle")
    assert (job.kind, job.payload) == ("settle", {"fact": str(fact.pk), "version": 1})


def test_adding_records_one_event_with_an_empty_before_state(owner):
    event = get_only_event(actions.add_fact(owner, "I love hiking"))
    assert (event.kind, event.actor, event.before) == ("add", "user", {})
    assert event.after["text"] == "I love hiking"


def test_adding_the_same_text_again_reinforces_the_fact(owner):
    first = actions.add_fact(owner, "I love hiking")
    again = actions.add_fact(owner, "i love HIKING.")
    assert again == first
    assert Fact.objects.count() == 1
    assert (again.mention_count, again.confidence) == (2, 0.85)
    event = FactEvent.objects.get(kind="reinforce")
    assert (event.before["mention_count"], event.after["mention_count"]) == (1, 2)


def test_confidence_never_exceeds_one(owner):
    for _ in range(5):
        fact = actions.add_fact(owner, "I love hiking")
    assert fact.confidence == 1.0


def test_other_owners_facts_are_no_duplicates(owner, other):
    actions.add_fact(owner, "I love hiking")
    assert actions.add_fact(other, "I love hiking").mention_count == 1


@pytest.mark.parametrize("text", ["", "  \n\t ", "\x00"])
def test_an_empty_fact_is_refused(owner, text):
    with pytest.raises(Refused, match="Write what to remember"):
        actions.add_fact(owner, text)
    assert not Fact.objects.exists()


def test_a_fact_longer_than_300_characters_is_refused(owner):
    assert len(actions.add_fact(owner, "x" * 300).text) == 300
    with pytest.raises(Refused, match="at most 300 characters"):
        actions.add_fact(owner, "x" * 301)
    with pytest.raises(Refused, match="at most 300 characters"):
        actions.edit_fact(Fact.objects.get(), "x" * 301)


def test_secrets_are_redacted_in_added_and_edited_facts(owner):
    fact = actions.add_fact(owner, "My password is hunter22")
    assert "hunter22" not in fact.text
    assert REDACTED in fact.text
    edited = actions.edit_fact(fact, "My API key is sk-abcdefgh12345678")
    assert "abcdefgh" not in edited.text
    assert "hunter22" not in str(list(FactEvent.objects.values("before", "after")))
    assert "abcdefgh" not in str(list(FactEvent.objects.values("before", "after")))


def test_an_edit_records_the_states_before_and_after(make_fact):
    fact = make_fact("User lives in Oslo", category="identity", kind="home")
    edited = actions.edit_fact(fact, "User lives in Bergen")
    event = get_only_event(fact)
    assert (event.kind, event.actor) == ("edit", "user")
    assert (event.before["text"], event.after["text"]) == ("User lives in Oslo", "User lives in Bergen")
    assert edited.version == 2


def test_an_edit_drops_the_old_vector_and_queues_classification(make_fact):
    fact = make_fact("User lives in Oslo", embedding=b"1234", embedder="some-embedder")
    edited = actions.edit_fact(fact, "User lives in Bergen")
    assert (edited.embedding, edited.embedder) == (None, "")
    assert Job.objects.get().payload["version"] == 2


def test_saving_an_unchanged_text_changes_nothing(make_fact):
    fact = make_fact("User lives in Oslo")
    assert actions.edit_fact(fact, " User lives in  Oslo ").version == 1
    assert not FactEvent.objects.exists()


@pytest.mark.parametrize("category", ["project", "preference", "identity"])
def test_a_fact_moved_to_another_category_gets_a_kind_of_that_category(make_fact, category):
    from chat.memory.kinds import KINDS

    fact = make_fact("User lives in Oslo", category="identity", kind="home")
    moved = actions.edit_fact(fact, fact.text, category)
    assert moved.category == KINDS[moved.kind].category == category


def test_an_unknown_category_is_refused(make_fact):
    with pytest.raises(Refused, match="project, preference or identity"):
        actions.edit_fact(make_fact("User lives in Oslo"), "User lives in Oslo", "secrets")


def test_pinning_and_unpinning_record_one_event_each(make_fact):
    fact = make_fact("User likes chess")
    assert actions.pin_fact(fact, True).pinned
    assert not actions.pin_fact(fact, False).pinned
    assert [(e.kind, e.before["pinned"], e.after["pinned"]) for e in FactEvent.objects.all()] == [
        ("pin", False, True),
        ("unpin", True, False),
    ]


def test_pinning_a_pinned_fact_changes_nothing(make_fact):
    fact = make_fact("User likes chess")
    actions.pin_fact(fact, True)
    actions.pin_fact(fact, True)
    assert get_only_event(fact).kind == "pin"


def test_the_eleventh_pin_is_refused(make_fact):
    for i in range(10):
        make_fact(f"User likes {i}", pinned=True)
    with pytest.raises(Refused, match="10 memories are pinned"):
        actions.pin_fact(make_fact("User likes chess"), True)
    assert Fact.objects.filter(pinned=True).count() == 10


def test_pins_pending_deletion_count_towards_the_limit(owner, make_fact):
    pinned = [make_fact(f"User likes {i}", pinned=True) for i in range(10)]
    deletions.forget_facts(owner, [pinned[0].pk])
    with pytest.raises(Refused, match="10 memories are pinned"):
        actions.pin_fact(make_fact("User likes chess"), True)


def test_other_owners_pins_do_not_count_towards_the_limit(other, make_fact):
    for i in range(10):
        make_fact(f"User likes {i}", pinned=True, owner=other)
    assert actions.pin_fact(make_fact("User likes chess"), True).pinned


@pytest.mark.parametrize(
    "change", [lambda f: actions.edit_fact(f, "Something else"), lambda f: actions.pin_fact(f, True)]
)
def test_a_fact_pending_deletion_cannot_be_edited_or_pinned(owner, make_fact, change):
    fact = make_fact("User likes chess")
    deletions.forget_facts(owner, [fact.pk])
    with pytest.raises(PendingDeletion, match="being forgotten"):
        change(fact)
    fact.refresh_from_db()
    assert (fact.text, fact.pinned) == ("User likes chess", False)


def test_a_classification_is_stored_and_recorded_once(owner):
    fact = actions.add_fact(owner, "Tea in the morning")
    how = {"kind": "habit", "subject": "", "vector": b"\x00" * 4, "embedder": "e"}
    actions.store_classification(fact.pk, 1, **how)
    actions.store_classification(fact.pk, 1, **how)
    fact.refresh_from_db()
    assert (fact.kind, fact.category, bytes(fact.embedding)) == ("habit", "preference", b"\x00" * 4)
    assert FactEvent.objects.filter(kind="update").count() <= 1


def test_a_classification_of_an_older_version_is_discarded(owner):
    fact = actions.edit_fact(actions.add_fact(owner, "Tea in the morning"), "Coffee in the morning")
    actions.store_classification(fact.pk, 1, kind="job", subject="", vector=b"1", embedder="e")
    fact.refresh_from_db()
    assert fact.kind != "job"
    assert fact.embedding is None


def test_a_classification_does_not_change_the_category_the_user_chose(owner):
    fact = actions.edit_fact(actions.add_fact(owner, "Chess"), "Chess club", "identity")
    actions.store_classification(fact.pk, 2, kind="likes", subject="", vector=None, embedder="")
    fact.refresh_from_db()
    assert fact.category == "identity"
