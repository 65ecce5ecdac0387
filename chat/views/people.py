"""The page of people in server mode, for admins: who has an account, what each uses in numbers, invitations,
and what admins did. It shows nothing that anybody wrote. In local mode, and for members, it answers 404.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.contrib import messages as notices
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.views.decorators.http import require_GET, require_POST

from chat.access import HtmxHttpRequest, is_admin, require_admin
from chat.actions import accounts, invitations, people, quotas
from chat.error_messages import describe
from chat.errors import Refused
from chat.models import AccountRole, AdminAct, AdminActKind, Invitation, User
from chat.statistics.people import AccountState, Person, list_accounts, load_people

from .responses import respond_with_error

PEOPLE_A_PAGE = 100
_MOST_ACTS = 100

# By what a form asks for: the function that does it, and what the notice says of it.
_ACTS: dict[str, tuple[Callable[[User, User], None], Any]] = {
    "approve": (people.approve, lazy("%(name)s can log in now.")),
    "refuse": (people.refuse, lazy("The request of %(name)s was removed.")),
    "deactivate": (people.deactivate, lazy("%(name)s cannot log in any more.")),
    "reactivate": (people.reactivate, lazy("%(name)s can log in again.")),
    "make_admin": (people.make_admin, lazy("%(name)s is an admin now.")),
    "make_member": (people.make_member, lazy("%(name)s is a member now.")),
    "delete": (
        accounts.delete_person,
        lazy("The account of %(name)s will be deleted in a day. Until then you can bring it back."),
    ),
    "restore": (accounts.restore_person, lazy("The account of %(name)s is back, and is deactivated.")),
    "remove_second_factor": (
        people.remove_second_factor,
        lazy("Two-factor of %(name)s is off. The password alone is enough now."),
    ),
}
# The limits of a person, with their labels.
_LIMITS: dict[str, Any] = {
    "messages_a_minute": lazy("Messages a minute"),
    "model_seconds_a_day": lazy("Seconds of the model a day"),
    "imports_a_day": lazy("Imports a day"),
}
_SENTENCES: dict[str, Any] = {
    AdminActKind.FIRST: lazy("%(actor)s made the first admin account"),
    AdminActKind.INVITED: lazy("%(actor)s made an invitation: %(subject)s"),
    AdminActKind.REVOKED: lazy("%(actor)s revoked an invitation: %(subject)s"),
    AdminActKind.JOINED: lazy("%(actor)s joined by an invitation of %(subject)s"),
    AdminActKind.APPROVED: lazy("%(actor)s approved %(subject)s"),
    AdminActKind.REFUSED: lazy("%(actor)s refused %(subject)s"),
    AdminActKind.DEACTIVATED: lazy("%(actor)s deactivated %(subject)s"),
    AdminActKind.REACTIVATED: lazy("%(actor)s reactivated %(subject)s"),
    AdminActKind.MADE_ADMIN: lazy("%(actor)s made %(subject)s an admin"),
    AdminActKind.MADE_MEMBER: lazy("%(actor)s made %(subject)s a member"),
    AdminActKind.PASSWORD_LINK: lazy("%(actor)s made a link for a new password of %(subject)s"),
    AdminActKind.SECOND_FACTOR: lazy("%(actor)s switched off the two-factor of %(subject)s"),
    AdminActKind.DELETED: lazy("%(actor)s deleted the account of %(subject)s"),
    AdminActKind.RESTORED: lazy("%(actor)s brought the account of %(subject)s back"),
    AdminActKind.LIMITS: lazy("%(actor)s set the limits of %(subject)s"),
}
_STATES: dict[AccountState, Any] = {
    AccountState.ACTIVE: lazy("active"),
    AccountState.WAITING: lazy("waits for approval"),
    AccountState.DEACTIVATED: lazy("deactivated"),
    AccountState.DELETED: lazy("is being deleted"),
    AccountState.LOCAL: lazy("the data of local mode; nobody can log in"),
}


@require_GET
def people_page(request: HtmxHttpRequest) -> HttpResponse:
    """Show all people, the invitations and the latest acts of admins."""
    require_admin(request)
    return _render(request)


@require_POST
def change_account(request: HtmxHttpRequest, pk: int) -> HttpResponse:
    """Change an account as the button `do` says, and redirect to the page of people."""
    admin = require_admin(request)
    user = get_object_or_404(User, pk=pk)
    name, what = user.get_username(), request.POST.get("do", "")
    try:
        if what == "password_link":
            link = request.build_absolute_uri(people.make_password_link(admin, user))
            return _render(request, password_link=link, link_of=user.pk)
        if what == "limits":
            quotas.set_quota(admin, user, **{name: _read_limit(request, name) for name in _LIMITS})
            notices.success(request, _("The limits of %(name)s are saved.") % {"name": name})
            return redirect("people")
        if what not in _ACTS:
            raise Refused("account-act-unknown")
        act, sentence = _ACTS[what]
        act(admin, user)
    except Refused as problem:
        return respond_with_error(request, problem, "people")
    notices.success(request, sentence % {"name": name})
    # Admins may have made themselves members.
    return redirect("people" if is_admin(User.objects.get(pk=admin.pk)) else "home")


def _read_limit(request: HtmxHttpRequest, name: str) -> int | None:
    """Return a limit of the form, None for that of the server. Raises Refused for what is no whole number."""
    text = request.POST.get(name, "").strip()
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise Refused("quota-not-a-number")
    return int(text)


@require_POST
def create_invitation(request: HtmxHttpRequest) -> HttpResponse:
    """Create an invitation and show its link once; it is never put into the session or a stored notice."""
    admin = require_admin(request)
    role, note, end = (request.POST.get(name, "") for name in ("role", "note", "end"))
    try:
        secret = invitations.invite(admin, role, note, end)
    except Refused as problem:
        entered = {"entered_role": role, "entered_note": note, "entered_end": end}
        return _render_invitations(request, 422, invitation_error=describe(problem), **entered)
    link = request.build_absolute_uri(reverse("invitation", args=[secret]))
    return _render_invitations(request, 200, invitation_link=link)


@require_POST
def revoke_invitation(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Revoke an invitation that is not used yet."""
    admin = require_admin(request)
    invitation = get_object_or_404(Invitation, pk=pk)
    try:
        invitations.revoke_invitation(admin, invitation)
    except Refused as problem:
        return respond_with_error(request, problem, "people")
    notices.success(request, _("The invitation is revoked."))
    return redirect("people")


def _render_invitations(request: HtmxHttpRequest, status: int, **more: Any) -> HttpResponse:
    if request.htmx:
        return render(request, "people/_invitations.html", _invitations_context() | more, status=status)
    return _render(request, status, **more)


def _render(request: HtmxHttpRequest, status: int = 200, **more: Any) -> HttpResponse:
    page = Paginator(list_accounts(), PEOPLE_A_PAGE).get_page(request.GET.get("page"))
    now = timezone.now()
    today = timezone.localtime(now).replace(hour=0, minute=0, second=0, microsecond=0)
    context = {
        "page": page,
        "people": [
            (one, _STATES[one.state], _list_limits(one)) for one in load_people(page.object_list, now, today)
        ],
        "acts": [(act.created_at, _describe_act(act)) for act in AdminAct.objects.all()[:_MOST_ACTS]],
        "can_make_password_link": _can_make_password_link(),
        **_invitations_context(),
        **more,
    }
    return render(request, "people/page.html", context, status=status)


def _list_limits(person: Person) -> list[dict[str, Any]]:
    """Return the limits of a person for the form, with the server's and what was used of each."""
    state, server = person.quota, quotas.get_server_quota()
    used = {
        "messages_a_minute": state.messages,
        "model_seconds_a_day": round(state.model_seconds),
        "imports_a_day": state.imports,
    }
    return [
        {
            "name": name,
            "label": label,
            "own": getattr(state.own, name, None),
            "server": getattr(server, name),
            "used": used[name],
        }
        for name, label in _LIMITS.items()
    ]


def _invitations_context() -> dict[str, Any]:
    now = timezone.now()
    return {
        "invitations": Invitation.objects.unused().filter(expires_at__gt=now).select_related("inviter"),
        "roles": AccountRole.choices,
        "entered_role": AccountRole.MEMBER,
        "ends": invitations.ENDS,
        "entered_end": invitations.DEFAULT_END,
        "longest_note": invitations.LONGEST_NOTE,
    }


def _describe_act(act: AdminAct) -> str:
    return str(_SENTENCES[act.kind]) % {"actor": act.actor_name, "subject": act.subject_name or "–"}


def _can_make_password_link() -> bool:
    """Return whether there is a page on which a person chooses a new password by a link."""
    try:
        reverse("account_reset_password_from_key", kwargs={"uidb36": "x", "key": "x"})
    except NoReverseMatch:
        return False
    return True
