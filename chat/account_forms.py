"""The forms of django-allauth's account pages, as this program adapts them (ACCOUNT_FORMS, MFA_FORMS)."""

from __future__ import annotations

from typing import Any

from allauth.account import forms
from allauth.account.adapter import get_adapter
from allauth.account.internal.userkit import filter_users_by_email
from allauth.account.models import EmailAddress
from allauth.core import context
from allauth.mfa.base import forms as mfa
from django.utils.translation import gettext as _

from .accounts import client_address
from .actions import logins


class SamePasswords:
    """Says in our words that two new passwords differ."""

    def clean(self) -> Any:
        """Compare both passwords."""
        cleaned = super(forms.PasswordVerificationMixin, self).clean()  # type: ignore[misc]
        first, second = cleaned.get("password1"), cleaned.get("password2")
        if first and second and first != second:
            self.add_error("password2", _("The two passwords differ."))  # type: ignore[attr-defined]
        return cleaned


class ChangePassword(SamePasswords, forms.ChangePasswordForm):  # type: ignore[misc]
    """A new password, with the present one."""

    def clean_oldpassword(self) -> str:
        """Check the present password; a wrong one counts as an attempt to log in."""
        password = str(self.cleaned_data.get("oldpassword", ""))
        if not get_adapter().reauthenticate(self.user, password):
            raise get_adapter().validation_error("enter_current_password")
        return password


class SetPassword(SamePasswords, forms.SetPasswordForm):  # type: ignore[misc]
    """A first password for somebody who has logged in with the issuer only."""


class ResetPassword(SamePasswords, forms.ResetPasswordKeyForm):  # type: ignore[misc]
    """A new password by a link."""


class RequestReset(forms.ResetPasswordForm):  # type: ignore[misc]
    """Asks for a link by email. Only confirmed addresses count."""

    def clean_email(self) -> str:
        """Find the people who have confirmed this address."""
        address = str(self.cleaned_data["email"])
        found = filter_users_by_email(address, is_active=True, prefer_verified=True, for_login=True)
        confirmed = EmailAddress.objects.filter(email=address.lower(), verified=True)
        keys = set(confirmed.values_list("user", flat=True))
        self.users = [user for user in found if user.pk in keys]
        return address


class EnterCode(mfa.AuthenticateForm):  # type: ignore[misc]
    """The code after the password. A wrong one is told to the owner: the password was right."""

    def _emit_authentication_failed(self, authenticator: Any) -> None:
        logins.record_failed_login(self.user, client_address(context.request))


class ConfirmByCode(mfa.ReauthenticateForm):  # type: ignore[misc]
    """The form that asks for a two-factor code before a change of the account."""

    def _emit_authentication_failed(self, authenticator: Any) -> None:
        logins.record_failed_login(self.user, client_address(context.request))
