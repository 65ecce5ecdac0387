"""Pages of server mode on which people make their account: by the first link, by an invitation, or by asking
for one. The form and the rate limit are django-allauth's. In local mode all of them answer 404.
"""

from __future__ import annotations

from typing import Any

from allauth.account.forms import SignupForm
from allauth.account.views import SignupView
from django import forms
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.hashers import make_password
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.decorators import method_decorator
from django.views.decorators.http import require_GET

from chat.actions import first_account, invitations, people
from chat.actions.owners import is_local
from chat.error_messages import describe
from chat.errors import Refused
from chat.models import AccountRole, User


class AccountForm(SignupForm):  # type: ignore[misc]
    """The form for a new account: a name and a password. `make` creates the account."""

    def __init__(self, *args: Any, make: Any, **kwargs: Any) -> None:
        self._make = make
        super().__init__(*args, **kwargs)

    def save(self, request: HttpRequest) -> User:
        """Create the account; return it. Raises Refused."""
        data = self.cleaned_data
        # Hashed here, since it takes longer than a transaction may.
        user: User = self._make(self, data["username"], make_password(data["password1"]))
        return user


class FirstAccountForm(AccountForm):
    """The form of the first account, which may take over the data of local mode."""

    adopt = forms.BooleanField(required=False)


@method_decorator(login_not_required, name="dispatch")
class AccountView(SignupView):  # type: ignore[misc]
    """A page with a form for a new account; whoever is logged in is redirected home."""

    template_name = "account/signup.html"
    form_class = AccountForm

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """Answer the request; 404 in local mode."""
        if is_local():
            raise Http404
        return super().dispatch(request, *args, **kwargs)

    def get_form_class(self) -> Any:
        """Return the form of this page."""
        return self.form_class

    def get_form_kwargs(self) -> dict[str, Any]:
        """Give the form the function that makes the account."""
        return {**super().get_form_kwargs(), "make": self.make}

    def make(self, form: AccountForm, name: str, hashed_password: str) -> User:
        """Create the account; return it. Raises Refused."""
        return people.sign_up(name, hashed_password)

    def form_valid(self, form: AccountForm) -> Any:
        """Create the account, or show beside the form why this is not possible."""
        try:
            return super().form_valid(form)
        except Refused as problem:
            form.add_error("username" if problem.code == "account-name-taken" else None, describe(problem))
            return self.form_invalid(form)

    def closed(self) -> HttpResponse:
        """Return status 404 where the page cannot make an account now."""
        raise Http404


class FirstAccountView(AccountView):
    """Makes the first admin account for whoever has the link that the start has printed."""

    form_class = FirstAccountForm

    def is_open(self) -> bool:
        """Return whether the link is valid."""
        return first_account.is_first_link_valid(self.kwargs["secret"])

    def closed(self) -> HttpResponse:
        """Say that the link is not valid any more, or never was."""
        return _say_over(self.request, describe(Refused("first-link-invalid")), 410)

    def make(self, form: AccountForm, name: str, hashed_password: str) -> User:
        """Create the admin account."""
        adopt = form.cleaned_data["adopt"] and first_account.find_local_data() is not None
        return first_account.create_first_admin(
            name, hashed_password, adopt=adopt, secret=self.kwargs["secret"]
        )

    def get_context_data(self, **more: Any) -> dict[str, Any]:
        """Describe the new account, and the local data that it can take over."""
        page = {"kind": "first", "local_data": first_account.find_local_data()}
        return {**super().get_context_data(**more), **page}


class InvitationView(AccountView):
    """Makes the account of somebody who was invited, and logs them in."""

    def is_open(self) -> bool:
        """Return whether the invitation can be used; keep why it cannot."""
        try:
            self.invitation = invitations.find_invitation(self.kwargs["secret"])
        except Refused as problem:
            self.refusal = problem
            return False
        return True

    def closed(self) -> HttpResponse:
        """Say why the invitation cannot be used."""
        status = 404 if self.refusal.code == "invitation-unknown" else 410
        return _say_over(self.request, describe(self.refusal), status)

    def make(self, form: AccountForm, name: str, hashed_password: str) -> User:
        """Create the account that the invitation is for."""
        return invitations.accept_invitation(self.kwargs["secret"], name, hashed_password)

    def get_context_data(self, **more: Any) -> dict[str, Any]:
        """Describe the new account, and name who has invited the reader."""
        page = {
            "kind": "invitation",
            "inviter": self.invitation.inviter,
            "as_admin": self.invitation.role == AccountRole.ADMIN,
            "expires_at": self.invitation.expires_at,
        }
        return {**super().get_context_data(**more), **page}


@login_not_required
@require_GET
def signup_waiting(request: HttpRequest) -> HttpResponse:
    """Say to somebody who has asked for an account, or logs in too early, what happens next."""
    if is_local():
        raise Http404
    return render(request, "account/waiting.html")


def _say_over(request: HttpRequest, sentence: str, status: int) -> HttpResponse:
    return render(request, "account/link_over.html", {"sentence": sentence}, status=status)
