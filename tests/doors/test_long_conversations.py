"""The page of a long conversation shows its end and links to earlier and later messages."""

from __future__ import annotations

import re

import pytest

from chat.actions.owners import default_app
from chat.models import Conversation, Message

pytestmark = pytest.mark.django_db


@pytest.fixture
def long_one(owner):
    """A conversation of two hundred messages."""
    conversation = Conversation.objects.create(owner=owner, app=default_app(owner), title="Long")
    Message.objects.bulk_create(
        Message(
            conversation=conversation,
            seq=i,
            role="user" if i % 2 else "assistant",
            content=f"Message number {i}.",
        )
        for i in range(1, 201)
    )
    return conversation


def numbers(answer) -> list[int]:
    return [int(n) for n in re.findall(r"<p>Message number (\d+)\.</p>", answer.content.decode())]


def link(answer, name: str) -> str | None:
    found = re.search(rf'id="{name}" href="([^"]+)"', answer.content.decode())
    return found and found[1]


def test_the_page_shows_the_newest_messages(ours, long_one):
    page = ours.get(f"/c/{long_one.pk}/")
    assert numbers(page) == list(range(141, 201))
    assert link(page, "later") is None


def test_plain_links_lead_through_the_whole_conversation(ours, long_one):
    page = ours.get(f"/c/{long_one.pk}/")
    seen = numbers(page)
    while (earlier := link(page, "earlier")) is not None:
        page = ours.get(earlier)
        assert link(page, "later") is not None
        seen = numbers(page) + seen
    assert seen == list(range(1, 201))
    assert numbers(ours.get(link(page, "later")))[0] == numbers(page)[-1] + 1


def test_earlier_messages_bring_only_the_link_to_still_earlier_ones(ours_htmx, long_one):
    part = ours_htmx.get(f"/c/{long_one.pk}/?before=141")
    assert numbers(part) == list(range(81, 141))
    assert link(part, "earlier").endswith("?before=81")
    assert link(part, "later") is None
    assert "<html" not in part.content.decode()


def test_later_messages_bring_only_the_link_to_still_later_ones(ours_htmx, long_one):
    part = ours_htmx.get(f"/c/{long_one.pk}/?after=60")
    assert numbers(part) == list(range(61, 121))
    assert link(part, "earlier") is None
    assert link(part, "later").endswith("?after=120")


def test_a_link_to_a_message_opens_the_conversation_around_it(ours, long_one):
    asked = Message.objects.get(seq=21)
    page = ours.get(f"/c/{long_one.pk}/?m={asked.pk}")
    assert numbers(page)[0] < 21 < numbers(page)[-1]
    assert f'id="m-{asked.pk}"' in page.content.decode()
    assert link(page, "earlier")
    assert link(page, "later")


def test_a_message_of_another_conversation_is_not_found(ours, long_one, talk):
    asked, _ = talk("Elsewhere")
    assert ours.get(f"/c/{long_one.pk}/?m={asked.pk}").status_code == 404
    assert ours.get(f"/c/{long_one.pk}/?m=nonsense").status_code == 404


def test_the_number_of_queries_does_not_grow_with_the_messages(ours, long_one, django_assert_max_num_queries):
    with django_assert_max_num_queries(25):
        ours.get(f"/c/{long_one.pk}/")


@pytest.mark.parametrize(
    ("role", "fields", "said"),
    [
        ("system", {}, "Instruction"),
        ("tool", {"name": "get_weather"}, "Result of get_weather"),
    ],
)
def test_system_and_tool_messages_are_labelled_by_role(ours, long_one, role, fields, said):
    Message.objects.create(conversation=long_one, seq=201, role=role, content="Rain.", **fields)
    page = ours.get(f"/c/{long_one.pk}/").content.decode()
    last = page[page.rindex("<article") :]
    assert f"<summary>{said}</summary>" in last
    assert ">Reply<" not in last
    assert "/flag/" not in last


def test_a_tool_call_shows_the_name_of_the_tool(ours, long_one):
    call = {"id": "1", "type": "function", "function": {"name": "get_weather", "arguments": '{"in": "Oslo"}'}}
    Message.objects.create(conversation=long_one, seq=201, role="assistant", tool_calls=[call])
    page = ours.get(f"/c/{long_one.pk}/").content.decode()
    assert "<code>get_weather</code>" in page
    assert "Oslo" in page
