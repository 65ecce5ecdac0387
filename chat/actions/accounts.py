"""Accounts in server mode: new ones of an issuer, email addresses, and deleting an account."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from allauth.account.models import EmailAddress
from django.db import transaction

from chat.errors import Refused
from chat.models import AdminActKind, Deletion, User

from . import deletions
from .owners import set_up_owner
from .people import is_waiting, keep_an_admin, let_wait, lock_accounts, record_act

# An admin may notice only later that it was the wrong account.
DELETED_BY_ADMIN_WINDOW = timedelta(days=1)


def create_account_of_issuer(user: User, save: Callable[[], None], *, approved: bool) -> None:
    """Store an account without a password; `save` stores its row and login.

    Unless it is `approved`, it is inactive and waits until an admin approves it. Raises Refused where too
    many wait.
    """
    with transaction.atomic():
        lock_accounts()
        user.set_unusable_password()
        user.is_active = approved
        save()
        if approved:
            set_up_owner(user)
        else:
            let_wait(user)


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
    with transaction.atomic():
        keep_an_admin(user)
        return deletions.erase_account(user, with_login=True)


def delete_person(admin: User, user: User) -> None:
    """Hide everything of a deactivated person, and delete it with the account after a day.

    Raises Refused for an account that is active or waits for approval, or is being deleted already.
    """
    with transaction.atomic():
        lock_accounts()
        if is_waiting(user):
            raise Refused("account-waiting")
        if User.objects.filter(pk=user.pk, is_active=True).exists():
            raise Refused("account-active")
        if Deletion.objects.of_accounts().filter(owner=user).exists():
            raise Refused("account-being-deleted")
        deletions.erase_account(user, DELETED_BY_ADMIN_WINDOW, with_login=True)
        record_act(admin, AdminActKind.DELETED, user.get_username())


def restore_person(admin: User, user: User) -> None:
    """Take back what `delete_person` did; the account stays deactivated.

    Raises Refused where nothing is being deleted, and TooLateToUndo when the day is over.
    """
    with transaction.atomic():
        lock_accounts()
        found = Deletion.objects.of_accounts().filter(owner=user, owner__is_active=False).first()
        if found is None:
            raise Refused("account-not-being-deleted")
        deletions.undo_deletion(found)
        record_act(admin, AdminActKind.RESTORED, user.get_username())
