"""The page's socket: a reply is streamed without loss, and events reach only their owner."""

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
from chat.generation.hub import Frame, hub
from chat.llm.model_status import ModelState, ModelStatus
from chat.management.commands import serve
from chat.models import Job, Message
from tests.waiting import wait_until

pytestmark = [pytest.mark.asyncio, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def reply_in_progress(talk, scripted):
    """A reply that is being written: two words are there, the next ones come when the test releases them."""
    scripted.gate = threading.Semaphore(0)
    scripted.replies.append("One two three four five")
    _, reply = talk("Count, please.")
    generation.start(reply)
    scripted.gate.release(2)
    wait_until(lambda: "two" in str(hub.snapshot(str(reply.conversation_id))))
    return reply


@pytest.fixture
def continue_reply(scripted):
    """Return a function that lets the model write this many more words."""
    return lambda words=99: scripted.gate.release(words)


def apply_frame(shown: list[str], frame: Frame) -> list[str]:
    """Return the blocks of a page after it has applied a frame as the protocol says."""
    if frame["type"] == "snapshot":
        return list(frame["blocks"])
    first, keep, html = frame["from"], frame["keep"], frame["html"]
    if keep and len(shown) <= first:
        # The page has asked for a snapshot.
        return shown
    kept = shown[first][:keep] if keep else ""
    return shown[:first] + ([kept + html[0], *html[1:]] if html else [])


async def read_to_the_end(page) -> tuple[str, list[int]]:
    """Return what a page shows at the end of a reply, and the numbers of the frames it applied."""
    shown: list[str] = []
    numbers: list[int] = []
    while (frame := await page.receive())["type"] != "done":
        if frame["type"] in ("snapshot", "blocks"):
            shown = apply_frame(shown, frame)
            numbers.append(frame["seq"])
    return "\n".join(shown), numbers


async def test_hello_during_a_reply_gives_a_snapshot_and_the_end_is_reported(
    socket, reply_in_progress, continue_reply
):
    page = socket(reply_in_progress.conversation_id)
    assert await page.connect() is True
    first = await page.frame("snapshot")
    assert first["reply"] == str(reply_in_progress.pk)
    assert "One two" in "".join(first["blocks"])
    await page.send({"type": "hello", "reply": str(reply_in_progress.pk), "seq": 0})
    again = await page.frame("snapshot")
    assert again["seq"] >= first["seq"]
    continue_reply()
    assert await page.frame("done") == {"type": "done", "reply": str(reply_in_progress.pk)}
    await sync_to_async(reply_in_progress.refresh_from_db)()
    assert (reply_in_progress.state, reply_in_progress.content) == ("complete", "One two three four five")


async def test_a_second_tab_that_opens_during_a_reply_loses_nothing(
    socket, reply_in_progress, continue_reply
):
    first, second = socket(reply_in_progress.conversation_id), socket(reply_in_progress.conversation_id)
    await first.connect()
    continue_reply(1)
    await second.connect()
    continue_reply()
    for page in (first, second):
        shown, numbers = await read_to_the_end(page)
        assert "One two three four five" in shown
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


async def test_a_reload_continues_the_stream(socket, reply_in_progress, continue_reply):
    before = socket(reply_in_progress.conversation_id)
    await before.connect()
    await before.leave()
    continue_reply(1)
    after = socket(reply_in_progress.conversation_id)
    await after.connect()
    continue_reply()
    shown, _ = await read_to_the_end(after)
    assert "One two three four five" in shown


async def test_closing_every_page_does_not_stop_the_reply(socket, reply_in_progress, continue_reply):
    page = socket(reply_in_progress.conversation_id)
    await page.connect()
    await page.leave()
    continue_reply()
    await sync_to_async(generation.wait_all)()
    await sync_to_async(reply_in_progress.refresh_from_db)()
    assert (reply_in_progress.state, reply_in_progress.content) == ("complete", "One two three four five")


async def test_a_page_that_waits_for_a_finished_reply_is_told_that_it_ended(
    socket, reply_in_progress, continue_reply
):
    continue_reply()
    await sync_to_async(generation.wait_all)()
    page = socket(reply_in_progress.conversation_id)
    await page.connect()
    await page.send({"type": "hello", "reply": str(reply_in_progress.pk), "seq": 3})
    assert await page.frame("done") == {"type": "done", "reply": str(reply_in_progress.pk)}


async def test_resync_gives_a_new_snapshot_in_frame_order(socket, reply_in_progress, continue_reply):
    page = socket(reply_in_progress.conversation_id)
    await page.connect()
    await page.frame("snapshot")
    continue_reply(1)
    await page.send({"type": "resync", "reply": str(reply_in_progress.pk)})
    continue_reply()
    shown, numbers = await read_to_the_end(page)
    assert "One two three four five" in shown
    assert numbers == sorted(numbers)


async def test_stop_ends_the_reply_and_keeps_its_text(socket, reply_in_progress):
    page = socket(reply_in_progress.conversation_id)
    await page.connect()
    await page.send({"type": "stop", "reply": str(reply_in_progress.pk)})
    await page.frame("done")
    await sync_to_async(reply_in_progress.refresh_from_db)()
    assert (reply_in_progress.state, reply_in_progress.content.strip()) == ("stopped", "One two")


async def test_stop_for_the_reply_of_another_conversation_does_nothing(socket, reply_in_progress, owner):
    asked, _ = await sync_to_async(send_message)(owner, "Elsewhere")
    page = socket(asked.conversation_id)
    await page.connect()
    await page.send({"type": "stop", "reply": str(reply_in_progress.pk)})
    assert await page.is_silent()
    assert generation.count_running() == 1


async def test_ping_is_answered_while_a_reply_is_written(socket, reply_in_progress):
    page = socket(reply_in_progress.conversation_id)
    await page.connect()
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
async def test_invalid_frames_are_ignored_and_the_socket_stays_open(socket, owner, garbage):
    page = socket()
    await page.connect()
    await page.send(garbage)
    assert await page.is_silent()


async def test_events_reach_all_pages_of_their_owner(socket, owner):
    pages = [socket(), socket()]
    for page in pages:
        await page.connect()
    await sync_to_async(add_fact)(owner, "I love hiking")
    for page in pages:
        assert await page.frame("facts") == {"type": "facts"}


async def test_a_message_sent_in_one_tab_is_reported_to_the_other(socket, owner):
    page = socket()
    await page.connect()
    asked, _ = await sync_to_async(send_message)(owner, "Hello")
    assert (await page.frame("messages"))["conversation"] == str(asked.conversation_id)


async def test_a_rolled_back_change_sends_no_event(socket, owner):
    from django.db import transaction

    page = socket()
    await page.connect()

    def roll_back() -> None:
        with transaction.atomic():
            events.send_on_commit(owner.pk, "facts")
            transaction.set_rollback(True)

    await sync_to_async(roll_back)()
    assert await page.is_silent()


async def test_the_state_of_the_model_is_reported_to_everybody(socket, server_mode, owner, other, logged_in):
    pages = []
    for person in (owner, other):
        client = await sync_to_async(logged_in)(person)
        pages.append(socket(session=client.cookies["sessionid"].value))
        assert await pages[-1].connect() is True
    await sync_to_async(serve._announce_model)(ModelStatus(ModelState.FAILED))
    for page in pages:
        assert await page.frame("model") == {"type": "model"}


async def test_a_socket_needs_no_conversation(socket, owner):
    page = socket()
    assert await page.connect() is True
    await page.send({"type": "hello", "reply": None, "seq": 0})
    assert await page.is_silent()


@pytest.mark.parametrize("wanted", ["nonsense", "00000000-0000-0000-0000-000000000000", "%FF", "\u00ff"])
async def test_a_socket_for_an_unknown_conversation_is_closed(socket, owner, wanted):
    assert await socket(wanted).connect() == 4404


async def test_the_streamed_html_equals_the_html_of_the_finished_reply(
    socket, reply_in_progress, continue_reply
):
    page = socket(reply_in_progress.conversation_id)
    await page.connect()
    continue_reply()
    shown, _ = await read_to_the_end(page)
    await sync_to_async(generation.wait_all)()
    html = await sync_to_async(lambda: Client().get(f"/m/{reply_in_progress.pk}/").content.decode())()
    assert shown.strip() in html
    assert await sync_to_async(Message.objects.filter(state="streaming").count)() == 0


async def test_a_page_that_loaded_before_the_model_was_ready_is_told_that_it_is_ready(socket, scripted):
    page = socket()
    assert await page.connect() is True
    await page.send({"type": "hello", "reply": None, "seq": 0, "model": "loading"})
    assert await page.frame("model") == {"type": "model"}


async def test_closing_the_last_page_schedules_the_end_of_the_conversation_in_ten_minutes(socket, talk):
    asked, _ = await sync_to_async(talk)("Hello.")
    ends = Job.objects.filter(kind="end_idle")
    await ends.adelete()
    first, second = socket(asked.conversation_id), socket(asked.conversation_id)
    assert await first.connect() is True
    assert await second.connect() is True
    await first.leave()
    assert not await ends.aexists()
    before = timezone.now()
    await second.leave()
    job = await ends.aget()
    assert job.payload == {"conversation": str(asked.conversation_id)}
    assert job.run_after >= before + timedelta(minutes=10)
