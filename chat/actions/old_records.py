"""Deletes records of what happened that nothing reads any more. Messages and facts are not among them."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.contrib.sessions.models import Session

from chat.models import AdminAct, Deletion, DeletionState, Invitation, UsageRecord

from .login_sessions import delete_ended_sessions
from .logins import delete_old_failed_logins
from .people import delete_old_requests
from .quotas import delete_old_uses

# The statistics show a year at most.
USAGE_KEPT = timedelta(days=731)
DELETIONS_KEPT = timedelta(days=90)
ADMIN_ACTS_KEPT = timedelta(days=365)


def delete_old_records(now: datetime) -> None:
    """Delete old usage records, records of finished deletions, ended login sessions, failed logins and what
    limits have counted; of server mode also old acts of admins, expired invitations, and requests for
    accounts that nobody answered.

    Kept are the records of deletions from which extraction, app memories or the page of a message still read
    what was forgotten, and those of anything that exists.
    """
    UsageRecord.objects.filter(created_at__lt=now - USAGE_KEPT).delete()
    ended = Deletion.objects.filter(
        state__in=(DeletionState.DONE, DeletionState.UNDONE), expires_at__lt=now - DELETIONS_KEPT
    ).filter(everything=False, whole=False, app=None, message=None, retraction__isnull=True)
    # Rows that refer to a deletion would be deleted together with it, so such deletions are kept.
    ended.filter(facts=None, conversations=None, app_memories=None).delete()
    Session.objects.filter(expire_date__lt=now).delete()
    delete_old_failed_logins(now)
    delete_old_uses(now)
    AdminAct.objects.filter(created_at__lt=now - ADMIN_ACTS_KEPT).delete()
    Invitation.objects.filter(expires_at__lt=now - ADMIN_ACTS_KEPT).delete()
    delete_old_requests(now)
    delete_ended_sessions()
