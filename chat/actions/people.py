"""What admins do with accounts in server mode. Each act is recorded; none reads what people wrote."""

from __future__ import annotations

from datetime import datetime, timedelta

from allauth.account import app_settings
from allauth.account.utils import user_pk_to_url_str
from allauth.mfa.models import Authenticator
from django.db import IntegrityError, transaction
from django.urls import reverse

from chat.errors import Refused
from chat.models import AccountRequest, AdminAct, AdminActKind, Deletion, FirstLink, User, active_admins

from .login_sessions import end_every_session
from .owners import set_up_owner

# Accounts that wait for approval at a time, so that strangers cannot fill the database.
MAX_WAITING = 50
_REQUESTS_KEPT = timedelta(days=30)


def create_user(name: str, hashed_password: str, *, is_admin: bool = False, is_active: bool = True) -> User:
    """Create an account; an active one gets settings and a first app. In a transaction with `lock_accounts`.

    Raises Refused where the name is taken, in whatever case its letters are.
    """
    if User.objects.filter(username__iexact=name).exists():
        raise Refused("account-name-taken")
    try:
        with transaction.atomic():
            user = User.objects.create(
                username=name,
                password=hashed_password,
                is_active=is_active,
                is_staff=is_admin,
                is_superuser=is_admin,
            )
    except IntegrityError as error:
        raise Refused("account-name-taken") from error
    if is_active:
        set_up_owner(user)
    return user


def sign_up(name: str, hashed_password: str) -> User:
    """Create an inactive account that waits for approval; return it.

    Raises Refused where the name is taken, and where `MAX_WAITING` accounts wait already.
    """
    with transaction.atomic():
        lock_accounts()
        user = create_user(name, hashed_password, is_active=False)
        let_wait(user)
    return user


def let_wait(user: User) -> None:
    """Let a new, inactive account wait for approval. In a transaction with `lock_accounts`.

    Raises Refused where `MAX_WAITING` accounts wait already.
    """
    if AccountRequest.objects.filter(user__is_active=False).count() >= MAX_WAITING:
        raise Refused("too-many-waiting", most=MAX_WAITING)
    AccountRequest.objects.create(user=user)


def is_waiting(user: User) -> bool:
    """Return whether an account waits for approval."""
    return not user.is_active and AccountRequest.objects.filter(user=user).exists()


def approve(admin: User, user: User) -> None:
    """Let a waiting person in. Raises Refused where the account does not wait."""
    with transaction.atomic():
        _take_request(user)
        User.objects.filter(pk=user.pk).update(is_active=True)
        set_up_owner(user)
        record_act(admin, AdminActKind.APPROVED, user.get_username())


def refuse(admin: User, user: User) -> None:
    """Remove a waiting account. Raises Refused where the account does not wait."""
    with transaction.atomic():
        _take_request(user)
        User.objects.get(pk=user.pk).delete()
        record_act(admin, AdminActKind.REFUSED, user.get_username())


def _take_request(user: User) -> None:
    lock_accounts()
    deleted, _ = AccountRequest.objects.filter(user=user, user__is_active=False).delete()
    if not deleted:
        raise Refused("account-not-waiting")


def deactivate(admin: User, user: User) -> None:
    """Close an account: its logins, tokens and sockets end within a second, and its data stays.

    Raises Refused for the last active admin, and for an account that is inactive already.
    """
    with transaction.atomic():
        keep_an_admin(user)
        if not User.objects.filter(pk=user.pk, is_active=True).update(is_active=False):
            raise Refused("account-inactive")
        # Otherwise a session would live on where the account is activated again.
        end_every_session(user)
        record_act(admin, AdminActKind.DEACTIVATED, user.get_username())


def reactivate(admin: User, user: User) -> None:
    """Open a deactivated account again. Raises Refused for one that waits, is active, or is being deleted."""
    with transaction.atomic():
        lock_accounts()
        if is_waiting(user):
            raise Refused("account-waiting")
        if Deletion.objects.of_accounts().filter(owner=user).exists():
            raise Refused("account-being-deleted")
        if not User.objects.filter(pk=user.pk, is_active=False).update(is_active=True):
            raise Refused("account-active")
        set_up_owner(user)
        record_act(admin, AdminActKind.REACTIVATED, user.get_username())


def make_admin(admin: User, user: User) -> None:
    """Make an active person an admin. Raises Refused for an inactive account."""
    with transaction.atomic():
        lock_accounts()
        if not User.objects.filter(pk=user.pk, is_active=True).update(is_staff=True, is_superuser=True):
            raise Refused("account-inactive")
        record_act(admin, AdminActKind.MADE_ADMIN, user.get_username())


def make_member(admin: User, user: User) -> None:
    """Make an admin a member. Raises Refused for the last active admin."""
    with transaction.atomic():
        keep_an_admin(user)
        User.objects.filter(pk=user.pk).update(is_staff=False, is_superuser=False)
        record_act(admin, AdminActKind.MADE_MEMBER, user.get_username())


def make_password_link(admin: User, user: User) -> str:
    """Return the path of a page on which an active person chooses a new password, without the old one.

    django-allauth's key: it works once, for three days, and until the person logs in or the password changes.
    Raises Refused for an inactive account.
    """
    with transaction.atomic():
        current = User.objects.filter(pk=user.pk, is_active=True).first()
        if current is None:
            raise Refused("account-inactive")
        key = app_settings.PASSWORD_RESET_TOKEN_GENERATOR().make_token(current)
        record_act(admin, AdminActKind.PASSWORD_LINK, user.get_username())
    return reverse(
        "account_reset_password_from_key", kwargs={"uidb36": user_pk_to_url_str(current), "key": key}
    )


def remove_second_factor(admin: User, user: User) -> None:
    """Switch a person's two-factor off, with its recovery codes. Raises Refused where it is off."""
    with transaction.atomic():
        deleted, _ = Authenticator.objects.filter(user=user).delete()
        if not deleted:
            raise Refused("two-factor-off")
        record_act(admin, AdminActKind.SECOND_FACTOR, user.get_username())


def keep_an_admin(user: User) -> None:
    """Raise Refused where no other active admin could log in; the answer holds until the transaction ends."""
    lock_accounts()
    if is_last_admin(user):
        raise Refused("last-admin")


def is_last_admin(user: User) -> bool:
    """Return whether this is an admin and no other active one can log in."""
    return user.is_superuser and not active_admins().exclude(pk=user.pk).exists()


def record_act(admin: User, kind: AdminActKind, subject_name: str = "") -> None:
    """Record what an admin did. In the transaction that does it."""
    AdminAct.objects.create(actor_name=admin.get_username(), kind=kind, subject_name=subject_name[:150])


def delete_old_requests(now: datetime) -> None:
    """Remove the accounts that have waited for approval for a month."""
    with transaction.atomic():
        # An admin may approve one of them at this moment.
        lock_accounts()
        old = AccountRequest.objects.filter(created_at__lt=now - _REQUESTS_KEPT, user__is_active=False)
        for request in old.select_related("user"):
            request.user.delete()


def lock_accounts() -> None:
    """Let one change of accounts at a time decide, until the transaction ends.

    SQLite's BEGIN IMMEDIATE does so already. On PostgreSQL two admins could otherwise demote each other, and
    two people take one name in different case.
    """
    FirstLink.objects.get_or_create(pk=FirstLink.KEY)
    FirstLink.objects.select_for_update().get(pk=FirstLink.KEY)
