"""Logging in with an OpenID Connect issuer: which issuer there is, and who may come in with it.

The issuer comes from environment variables alone. A login is known by the issuer and its identifier (`sub`)
there, never by an email address.
"""

from __future__ import annotations

from typing import Any

import jwt
from allauth.account.adapter import get_adapter as get_account_adapter
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.internal import jwtkit
from allauth.socialaccount.models import SocialApp
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from allauth.utils import build_absolute_uri
from django.conf import settings
from django.http import HttpRequest
from django.shortcuts import render
from django.urls import reverse

from chat.accounts import issuer_id
from chat.actions.accounts import create_account_of_issuer

_KEPT_CLAIMS = ("sub", "preferred_username", "name")


class IssuerClient(OpenIDConnectOAuth2Adapter):  # type: ignore[misc]
    """The client of the issuer: fetches and checks tokens and user information."""

    def get_callback_url(self, request: HttpRequest, app: Any) -> str:
        """Return the address to which the issuer sends the browser back after its login."""
        return str(build_absolute_uri(request, reverse("openid_connect_callback")))

    def complete_login(self, request: HttpRequest, app: Any, token: Any, **more: Any) -> Any:
        """Return the login that an ID token and the user information describe. Raises OAuth2Error.

        Both must be of the same person, and nothing but the claims that the pages show is stored.
        """
        if not more["response"].get("id_token"):
            raise OAuth2Error("the issuer sent no ID token")
        data = {"id_token": self._decode_id_token(app, more["response"]["id_token"])}
        if self.openid_config.get("userinfo_endpoint"):
            data["userinfo"] = self._fetch_user_info(token.token)
        subjects = {str(claims.get("sub") or "") for claims in data.values()}
        if len(subjects) != 1 or not subjects.copy().pop():
            raise OAuth2Error("the ID token and the user information are of different people")
        kept = {part: {name: claims[name] for name in _KEPT_CLAIMS if name in claims}
                for part, claims in data.items()}  # fmt: skip
        return self.get_provider().sociallogin_from_response(request, kept)

    def _decode_id_token(self, app: Any, id_token: str) -> dict[str, Any]:
        """Check the signature, issuer, audience and time of an ID token, and return its claims.

        django-allauth does not check the signature of a token that it fetched itself. Clocks may differ by a
        minute. Raises OAuth2Error.
        """
        try:
            keys, issuer = self.openid_config["jwks_uri"], self.openid_config["issuer"]
            algorithm, key = jwtkit.fetch_key(id_token, keys, jwtkit.lookup_kid_jwk)
            if not algorithm.startswith(("RS", "PS", "ES", "Ed")):
                raise OAuth2Error("the ID token is not signed with a public key")
            return jwt.decode(
                id_token,
                key,
                algorithms=[algorithm],
                audience=app.client_id,
                issuer=issuer,
                leeway=60,
                options={"require": ["exp", "iat", "iss", "aud", "sub"]},
            )
        except jwt.PyJWTError as problem:
            raise OAuth2Error("the ID token is not valid") from problem


class IssuerProvider(OpenIDConnectProvider):  # type: ignore[misc]
    """The issuer as django-allauth sees it."""

    oauth2_adapter_class = IssuerClient

    def get_callback_url(self) -> str:
        """Return the path that the issuer redirects to."""
        return reverse("openid_connect_callback")

    def get_default_scope(self) -> list[str]:
        """Return the scopes that are requested from the issuer: the identity, without the email address."""
        return ["openid", "profile"]

    def get_scope_from_request(self, request: HttpRequest) -> list[str]:
        """Return the scopes that are requested from the issuer; no page can request more."""
        return list(self.get_scope())

    def get_auth_params_from_request(self, request: HttpRequest, action: Any) -> dict[str, str]:
        """Return further parameters; before a change of the account the issuer has to ask for a new login."""
        return {"prompt": "login"} if "again" in request.GET else {}

    def extract_common_fields(self, data: Any) -> dict[str, Any]:
        """Return the claims of a new account, without an email address: it was not confirmed here."""
        found = super().extract_common_fields(data)
        return {**found, "email": None}

    def extract_email_addresses(self, data: Any) -> list[Any]:
        """Return no address, so that none links a login to an account."""
        return []


class IssuerAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]
    """Decides who may log in with the OpenID Connect issuer."""

    def list_apps(self, request: HttpRequest, provider: Any = None, client_id: Any = None) -> list[Any]:
        """Return the issuer of the environment variables; none without them."""
        if not settings.OIDC_ISSUER:
            return []
        app = SocialApp(
            provider="openid_connect",
            provider_id=issuer_id(),
            name=settings.OIDC_NAME,
            client_id=settings.OIDC_CLIENT_ID,
            secret=settings.OIDC_CLIENT_SECRET,
            settings={"server_url": settings.OIDC_ISSUER, "oauth_pkce_enabled": True},
        )
        return [app]

    def get_provider(self, request: HttpRequest, provider: Any, client_id: Any = None) -> Any:
        """Return the issuer, by whatever name it was stored. Raises SocialApp.DoesNotExist without one."""
        return IssuerProvider(request, app=self.get_app(request, provider))

    def is_open_for_signup(self, request: HttpRequest, sociallogin: Any) -> bool:
        """Return True, or show a page that says how an account is linked."""
        if settings.OIDC_SIGNUP == "off":
            page = render(request, "socialaccount/not_linked.html", {"name": settings.OIDC_NAME}, status=403)
            raise ImmediateHttpResponse(page)
        return True

    def save_user(self, request: HttpRequest, sociallogin: Any, form: Any = None) -> Any:
        """Store a new account with its login; inactive where an admin has to approve it."""
        user = sociallogin.user
        get_account_adapter(request).populate_username(request, user)
        create_account_of_issuer(user, lambda: sociallogin.save(request), approved=_is_open())
        return user


def _is_open() -> bool:
    return bool(settings.OIDC_SIGNUP == "open")
