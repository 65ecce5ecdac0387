"""The page's socket: nothing of a reply is lost, and nobody hears what is not theirs."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from asgiref.sync import sync_to_async
from django.test import Client
from django.utils import timezone

from chat.actions import events
from chat.actions.facts import add_fact
from chat.actions.messages import send_message
from chat.generation import run as generation
from chat.generation.hub import hub
from chat.llm.state import ModelState, Status
from chat.management.commands import serve
from chat.models import Job, Message
from tests.waiting import until

pytestmark = [pytest.mark.asyncio, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def writing(talk, scripted):
    """A reply whose words come when the test lets them; its first two are there."""
    scripted.gate = threading.Semaphore(0)
    scripted.replies.append("One two three four five")
    _, reply = talk("Count, please.")
    generation.start(reply)
    scripted.gate.release(2)
    until(lambda: "two" in str(hub.snapshot(str(reply.conversation_id))))
    return reply


@pytest.fixture
def go_on(scripted):
    """Lets the model write a number of words more."""
    return lambda words=99: scripted.gate.release(words)


def applied(shown: list[str], frame: dict) -> list[str]:
    """Return a page's blocks after a frame, as the contract says to apply it."""
    if frame["type"] == "snapshot":
        return list(frame["blocks"])
    return shown[: frame["from"]] + frame["html"]


async def read_to_the_end(page) -> tuple[str, list[int]]:
    """Return what a page shows at the end of a reply, and the numbers of the frames it applied."""
    shown, numbers = [], []
    while (frame := await page.receive())["type"] != "done":
        if frame["type"] in ("snapshot", "blocks"):
            shown = applied(shown, frame)
            numbers.append(frame["seq"])
    return "\n".join(shown), numbers


async def test_hello_in_the_middle_of_a_reply_gives_a_snapshot_and_the_end_is_told(socket, writing, go_on):
    page = socket(writing.conversation_id)
    assert await page.opened() is True
    first = await page.frame("snapshot")
    assert first["reply"] == str(writing.pk)
    assert "One two" in "".join(first["blocks"])
    await page.send({"type": "hello", "reply": str(writing.pk), "seq": 0})
    again = await page.frame("snapshot")
    assert again["seq"] >= first["seq"]
    go_on()
    assert await page.frame("done") == {"type": "done", "reply": str(writing.pk)}
    await sync_to_async(writing.refresh_from_db)()
    assert (writing.state, writing.content) == ("complete", "One two three four five")


async def test_a_second_tab_in_the_middle_loses_nothing(socket, writing, go_on):
    first, second = socket(writing.conversation_id), socket(writing.conversation_id)
    await first.opened()
    go_on(1)
    await second.opened()
    go_on()
    for page in (first, second):
        shown, numbers = await read_to_the_end(page)
        assert "One two three four five" in shown
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


async def test_a_reload_goes_on_streaming(socket, writing, go_on):
    before = socket(writing.conversation_id)
    await before.opened()
    await before.leave()
    go_on(1)
    after = socket(writing.conversation_id)
    await after.opened()
    go_on()
    shown, _ = await read_to_the_end(after)
    assert "One two three four five" in shown


async def test_closing_every_page_stops_nothing(socket, writing, go_on):
    page = socket(writing.conversation_id)
    await page.opened()
    await page.leave()
    go_on()
    await sync_to_async(generation.wait)()
    await sync_to_async(writing.refresh_from_db)()
    assert (writing.state, writing.content) == ("complete", "One two three four five")


async def test_a_page_that_waits_for_a_reply_that_has_ended_is_told_so(socket, writing, go_on):
    go_on()
    await sync_to_async(generation.wait)()
    page = socket(writing.conversation_id)
    await page.opened()
    await page.send({"type": "hello", "reply": str(writing.pk), "seq": 3})
    assert await page.frame("done") == {"type": "done", "reply": str(writing.pk)}


async def test_resync_gives_a_fresh_snapshot_in_its_place_among_the_frames(socket, writing, go_on):
    page = socket(writing.conversation_id)
    await page.opened()
    await page.frame("snapshot")
    go_on(1)
    await page.send({"type": "resync", "reply": str(writing.pk)})
    go_on()
    shown, numbers = await read_to_the_end(page)
    assert "One two three four five" in shown
    assert numbers == sorted(numbers)


async def test_stop_through_the_socket_ends_the_reply_with_its_text(socket, writing):
    page = socket(writing.conversation_id)
    await page.opened()
    await page.send({"type": "stop", "reply": str(writing.pk)})
    await page.frame("done")
    await sync_to_async(writing.refresh_from_db)()
    assert (writing.state, writing.content.strip()) == ("stopped", "One two")


async def test_stop_for_another_conversations_reply_does_nothing(socket, writing, owner):
    asked, _ = await sync_to_async(send_message)(owner, "Elsewhere")
    page = socket(asked.conversation_id)
    await page.opened()
    await page.send({"type": "stop", "reply": str(writing.pk)})
    assert await page.is_silent()
    assert generation.running() == 1


async def test_ping_is_answered_while_a_reply_is_written(socket, writing):
    page = socket(writing.conversation_id)
    await page.opened()
    await page.send({"type": "ping"})
    assert await page.frame("pong") == {"type": "pong"}


@pytest.mark.parametrize(
    "garbage",
    [
        "",
        "not json",
        "[]",
        "null",
        "7",
        '"ping"',
        "{}",
        '{"type": null}',
        '{"type": ["ping"]}',
        '{"type": {"a": 1}}',
        '{"type": "unknown"}',
        '{"type": "stop"}',
        '{"type": "stop", "reply": {"a": []}}',
        '{"type": "hello", "reply": 5, "seq": "x"}',
        "[" * 5000,
        b"\x00\xff",
        '{"type": "pong"',
    ],
)
async def test_garbage_is_answered_with_nothing_and_the_socket_stays_open(socket, owner, garbage):
    page = socket()
    await page.opened()
    await page.send(garbage)
    assert await page.is_silent()


async def test_events_of_an_owner_reach_all_pages_of_theirs(socket, owner):
    pages = [socket(), socket()]
    for page in pages:
        await page.opened()
    await sync_to_async(add_fact)(owner, "I love hiking")
    for page in pages:
        assert await page.frame("facts") == {"type": "facts"}


async def test_a_message_sent_in_one_tab_is_told_to_the_other(socket, owner):
    page = socket()
    await page.opened()
    asked, _ = await sync_to_async(send_message)(owner, "Hello")
    assert (await page.frame("messages"))["conversation"] == str(asked.conversation_id)


async def test_nothing_is_told_of_a_change_that_was_taken_back(socket, owner):
    from django.db import transaction

    page = socket()
    await page.opened()

    def roll_back() -> None:
        with transaction.atomic():
            events.tell(owner.pk, "facts")
            transaction.set_rollback(True)

    await sync_to_async(roll_back)()
    assert await page.is_silent()


async def test_events_of_an_owner_reach_nobody_else(socket, server_mode, owner, other, logged_in):
    theirs = await sync_to_async(logged_in)(other)
    page = socket(session=theirs.cookies["sessionid"].value)
    assert await page.opened() is True
    await sync_to_async(add_fact)(owner, "I love hiking")
    assert await page.is_silent()


async def test_what_becomes_of_the_model_is_told_to_everybody(socket, server_mode, owner, other, logged_in):
    pages = []
    for person in (owner, other):
        client = await sync_to_async(logged_in)(person)
        pages.append(socket(session=client.cookies["sessionid"].value))
        assert await pages[-1].opened() is True
    await sync_to_async(serve._announce)(Status(ModelState.FAILED))
    for page in pages:
        assert await page.frame("model") == {"type": "model"}


async def test_a_socket_needs_no_conversation(socket, owner):
    page = socket()
    assert await page.opened() is True
    await page.send({"type": "hello", "reply": None, "seq": 0})
    assert await page.is_silent()


@pytest.mark.parametrize("wanted", ["nonsense", "00000000-0000-0000-0000-000000000000", "%FF", "\u00ff"])
async def test_a_socket_to_no_conversation_of_ours_is_closed(socket, owner, wanted):
    assert await socket(wanted).opened() == 4404


async def test_what_the_page_gets_is_what_the_page_of_the_reply_shows(socket, writing, go_on):
    page = socket(writing.conversation_id)
    await page.opened()
    go_on()
    shown, _ = await read_to_the_end(page)
    await sync_to_async(generation.wait)()
    html = await sync_to_async(lambda: Client().get(f"/m/{writing.pk}/").content.decode())()
    assert shown.strip() in html
    assert await sync_to_async(Message.objects.filter(state="streaming").count)() == 0


async def test_a_page_whose_model_became_ready_before_its_socket_opened_is_told(socket, scripted):
    page = socket()
    assert await page.opened() is True
    await page.send({"type": "hello", "reply": None, "seq": 0, "model": "loading"})
    assert await page.frame("model") == {"type": "model"}


async def test_the_last_page_that_closes_begins_the_ten_minutes_to_the_end(socket, talk):
    asked, _ = await sync_to_async(talk)("Hello.")
    ends = Job.objects.filter(kind="end_idle")
    await ends.adelete()
    first, second = socket(asked.conversation_id), socket(asked.conversation_id)
    assert await first.opened() is True
    assert await second.opened() is True
    await first.leave()
    assert not await ends.aexists()
    before = timezone.now()
    await second.leave()
    job = await ends.aget()
    assert job.payload == {"conversation": str(asked.conversation_id)}
    assert job.run_after >= before + timedelta(minutes=10)
