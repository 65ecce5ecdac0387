"""How people log in: sessions, two-factor, linked logins and email addresses. Read-only, without secrets."""

from __future__ import annotations

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from allauth.usersessions.models import UserSession
from django.contrib import admin

from .base import ReadOnly

# The issuer comes from environment variables, and its tokens are not stored.
for _model in (EmailAddress, Authenticator, SocialAccount, SocialApp, SocialToken, UserSession):
    admin.site.unregister(_model)


@admin.register(UserSession)
class UserSessionAdmin(ReadOnly):
    """Login sessions, also some that have ended; the key of a session is not shown."""

    holds_contents = False
    list_display = ("last_seen_at", "user", "ip", "user_agent", "created_at")
    list_filter = ("user",)
    search_fields = ("ip",)
    list_select_related = ("user",)
    date_hierarchy = "last_seen_at"
    exclude = ("session_key", "data")


@admin.register(Authenticator)
class AuthenticatorAdmin(ReadOnly):
    """Two-factor and recovery codes of people; their secrets are not shown."""

    holds_contents = False
    list_display = ("user", "type", "created_at", "last_used_at")
    list_filter = ("type", "user")
    list_select_related = ("user",)
    date_hierarchy = "created_at"
    exclude = ("data",)


@admin.register(SocialAccount)
class SocialAccountAdmin(ReadOnly):
    """Logins of the OpenID Connect issuer that are linked to accounts."""

    holds_contents = False
    list_display = ("user", "provider", "uid", "last_login", "date_joined")
    list_filter = ("user",)
    search_fields = ("uid",)
    list_select_related = ("user",)
    date_hierarchy = "last_login"
    exclude = ("extra_data",)


@admin.register(EmailAddress)
class EmailAddressAdmin(ReadOnly):
    """Email addresses for new passwords."""

    holds_contents = False
    list_display = ("user", "email", "verified", "primary")
    list_filter = ("verified", "user")
    search_fields = ("email",)
    list_select_related = ("user",)
