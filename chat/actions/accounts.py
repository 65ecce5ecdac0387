"""Accounts in server mode: new ones of an issuer, email addresses, and deleting an account."""

from __future__ import annotations

from collections.abc import Callable

from allauth.account.models import EmailAddress
from django.db import transaction
from django.utils import timezone

from chat.errors import Refused
from chat.models import AccountRequest, Deletion, Fact, User

from . import erasure
from .deletion_batch import create_deletion
from .deletions import CLEAR_UNDO_WINDOW
from .owners import lock_memory, set_up_owner
from .people import keep_an_admin


def create_account_of_issuer(user: User, save: Callable[[], None], *, approved: bool) -> None:
    """Store an account without a password, with settings and first app; `save` stores its row and login.

    It is inactive and waits until an admin approves it, unless `approved` is set.
    """
    with transaction.atomic():
        user.set_unusable_password()
        user.is_active = approved
        save()
        set_up_owner(user)
        if not approved:
            AccountRequest.objects.create(user=user)


def store_new_email(user: User, address: str) -> EmailAddress:
    """Store an address that counts once it is confirmed; an earlier one that waits goes. Raises Refused."""
    address = address.lower()
    with transaction.atomic():
        if EmailAddress.objects.filter(user=user, email=address, verified=True).exists():
            raise Refused("email-yours-already")
        EmailAddress.objects.filter(user=user, verified=False).delete()
        return EmailAddress.objects.create(user=user, email=address)


def remove_email(user: User) -> None:
    """Delete a person's email addresses, confirmed or not."""
    EmailAddress.objects.filter(user=user).delete()


def delete_account(user: User) -> Deletion:
    """Hide everything of a person at once, and delete it with their account after 8 s; one undo restores it.

    Stop running replies before the call. Raises Refused for the last admin.
    """
    now = timezone.now()
    with transaction.atomic():
        keep_an_admin(user)
        lock_memory(user.pk)
        facts = list(Fact.objects.for_owner(user).filter(deletion__isnull=True))
        deletion = create_deletion(user, facts, now, now + CLEAR_UNDO_WINDOW, everything=True)
        deletion.whole = deletion.account = True
        deletion.save(update_fields=["whole", "account"])
        erasure.hide_account(user, deletion)
    return deletion
