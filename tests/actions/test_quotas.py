"""What one person may take in server mode: it is counted in the database, and deleting gives nothing back."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.utils import timezone

from chat.actions import accounts, deletions, quotas
from chat.actions.conversations import create_conversation
from chat.actions.erasure import purge_conversation
from chat.actions.messages import send_message
from chat.actions.old_records import delete_old_records
from chat.actions.usage import record_call
from chat.errors import QuotaExceeded, Refused
from chat.generation import run as generation
from chat.llm.types import Lane, Usage
from chat.models import Conversation, Message, PersonQuota, QuotaUse

pytestmark = pytest.mark.django_db


@pytest.fixture
def limits(server_mode):
    """Server mode with small limits; returns the settings."""
    server_mode.QUOTA_MESSAGES_A_MINUTE = 2
    server_mode.QUOTA_MODEL_SECONDS_A_DAY = 0
    server_mode.QUOTA_IMPORTS_A_DAY = 1
    return server_mode


def take_messages(user, count: int) -> None:
    for _ in range(count):
        with quotas.count_message(user):
            pass


def work(user, seconds: float, lane: Lane = Lane.CHAT) -> None:
    record_call(user.pk, "reply", lane, Usage(prompt_tokens=1, worked_seconds=seconds, seconds=900), "stop")


def refuse(check, *args) -> QuotaExceeded:
    with pytest.raises(QuotaExceeded) as refused:
        check(*args)
    return refused.value


def test_the_message_after_the_last_one_of_a_minute_is_refused_until_the_oldest_is_a_minute_old(
    limits, owner, other, clock
):
    take_messages(owner, 1)
    clock(10)
    take_messages(owner, 1)
    refused = refuse(take_messages, owner, 1)
    assert refused.after == 50
    assert str(refused) == "Messages a minute are limited to 2 for each person. Try again in 50 seconds."
    take_messages(other, 2)
    clock(50)
    take_messages(owner, 1)
    assert refuse(quotas.check_messages, owner).after == 10


def test_a_refused_message_changes_nothing_and_does_not_count(limits, owner, clock, scripted):
    clock(0)
    take_messages(owner, 2)
    refuse(lambda: generation.begin_exchange(owner, lambda: send_message(owner, "Hello")))
    assert not Message.objects.exists()
    assert not Conversation.objects.exists()
    assert QuotaUse.objects.count() == 2


def test_a_message_that_could_not_be_saved_does_not_count(limits, owner):
    with pytest.raises(Refused):
        generation.begin_exchange(owner, lambda: send_message(owner, " "))
    assert not QuotaUse.objects.exists()


def test_a_repeated_request_counts_once(limits, owner, scripted, transactional_db):
    key = generation.RequestKey("one", b"the same")
    for _ in range(4):
        generation.begin_exchange(owner, lambda: send_message(owner, "Hello"), key=key)
    generation.wait_all()
    assert QuotaUse.objects.count() == 1


def test_deleting_what_was_sent_gives_no_message_back(limits, owner, scripted, transactional_db):
    for _ in range(2):
        asked = generation.begin_exchange(owner, lambda: send_message(owner, "Hello")).saved[0]
        generation.wait_all()
        purge_conversation(asked.conversation)
    assert not Message.objects.exists()
    refuse(take_messages, owner, 1)


def test_stored_messages_without_a_reply_do_not_count(limits, owner):
    from chat.actions.messages import add_message

    chat = create_conversation(owner)
    for _ in range(5):
        generation.begin_exchange(owner, lambda: [add_message(chat, "user", "Hello")], is_answered=False)
    assert not QuotaUse.objects.exists()


def test_two_requests_at_the_same_time_are_not_both_the_last_one(limits, owner, transactional_db):
    take_messages(owner, 1)
    ready, outcomes = threading.Barrier(4), []

    def take() -> None:
        ready.wait(10)
        try:
            take_messages(owner, 1)
            outcomes.append("sent")
        except QuotaExceeded:
            outcomes.append("refused")
        finally:
            connection.close()

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(outcomes) == ["refused", "refused", "refused", "sent"]


def test_seconds_of_the_model_count_without_those_of_waiting_and_of_background_work(limits, owner, clock):
    limits.QUOTA_MODEL_SECONDS_A_DAY = 100
    clock(0)
    work(owner, 99)
    work(owner, 500, Lane.BACKGROUND)
    quotas.check_model_seconds(owner)
    clock(3600)
    work(owner, 20, Lane.INTERACTIVE)
    refused = refuse(take_messages, owner, 1)
    assert refused.code == "quota-model-seconds"
    # The first call leaves the day in 23 hours.
    assert refused.after == 23 * 3600
    assert str(refused).endswith("Try again in 23 hours.")
    clock(23 * 3600)
    take_messages(owner, 1)


def test_an_import_too_many_is_refused_until_a_day_is_over(limits, owner, clock):
    clock(0)
    with pytest.raises(RuntimeError), quotas.count_import(owner):
        raise RuntimeError("the import failed")
    with quotas.count_import(owner):
        pass
    assert refuse(quotas.check_imports, owner).after == 86400
    clock(86400)
    quotas.check_imports(owner)


def test_in_local_mode_nothing_is_limited_and_nothing_counted(settings, owner):
    settings.QUOTA_MESSAGES_A_MINUTE = 1
    take_messages(owner, 5)
    for check in (quotas.check_messages, quotas.check_imports, quotas.check_model_seconds):
        check(owner)
    assert not QuotaUse.objects.exists()


def test_zero_is_no_limit(limits, owner):
    limits.QUOTA_MESSAGES_A_MINUTE = 0
    take_messages(owner, 30)
    assert QuotaUse.objects.count() == 30


def test_an_administrator_sets_the_limits_of_one_person(limits, owner, other):
    numbers = {"messages_a_minute": 0, "model_seconds_a_day": None, "imports_a_day": 5}
    with pytest.raises(Refused):
        quotas.set_quota(other, other, **numbers)
    quotas.set_quota(owner, other, **numbers)
    assert quotas.find_quota(other) == quotas.Quota(0, 0, 5)
    assert quotas.find_quota(owner) == quotas.Quota(2, 0, 1)
    take_messages(other, 5)
    with pytest.raises(Refused):
        quotas.set_quota(owner, other, **{**numbers, "imports_a_day": -1})
    quotas.set_quota(owner, other, messages_a_minute=None, model_seconds_a_day=None, imports_a_day=None)
    assert not PersonQuota.objects.exists()


def test_the_use_of_all_people_takes_three_queries(limits, owner, other, django_assert_num_queries):
    people = [owner, other, *[get_user_model().objects.create_user(f"p{number}") for number in range(5)]]
    quotas.set_quota(owner, other, messages_a_minute=9, model_seconds_a_day=None, imports_a_day=None)
    take_messages(owner, 2)
    work(owner, 7.5)
    with quotas.count_import(other):
        pass
    with django_assert_num_queries(3):
        found = quotas.find_use(people)
    assert found[owner.pk] == quotas.QuotaState(quotas.Quota(2, 0, 1), 2, 7.5, 0)
    assert found[other.pk] == quotas.QuotaState(quotas.Quota(9, 0, 1), 0, 0.0, 1, PersonQuota.objects.get())
    assert found[people[-1].pk] == quotas.QuotaState(quotas.Quota(2, 0, 1))


def test_deleting_everything_resets_no_limit(limits, owner, clock):
    clock(0)
    take_messages(owner, 1)
    clock(25 * 3600)
    take_messages(owner, 1)
    quotas.set_quota(owner, owner, messages_a_minute=2, model_seconds_a_day=None, imports_a_day=None)
    clock(1)
    deletion = deletions.erase_account(owner)
    assert deletions.finish_deletion(deletion.pk, deletion.expires_at + deletions.UNDO_GRACE)
    # What was taken in the last day, and what an administrator has set.
    assert QuotaUse.objects.count() == 1
    assert PersonQuota.objects.get().messages_a_minute == 2


def test_deleting_the_account_deletes_what_was_counted(limits, owner, other, clock):
    owner.set_password("a long password")
    owner.save()
    take_messages(other, 1)
    clock(1)
    deletion = accounts.delete_account(other)
    assert deletions.finish_deletion(deletion.pk, deletion.expires_at + deletions.UNDO_GRACE)
    assert not QuotaUse.objects.exists()


def test_what_no_limit_counts_any_more_is_deleted_at_night(limits, owner):
    take_messages(owner, 1)
    delete_old_records(timezone.now() + timedelta(hours=23))
    assert QuotaUse.objects.exists()
    delete_old_records(timezone.now() + timedelta(hours=25))
    assert not QuotaUse.objects.exists()
