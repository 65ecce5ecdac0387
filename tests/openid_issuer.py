"""A small OpenID Connect issuer for tests: discovery, authorization, signed tokens, user information.

It logs in whoever `claims` describes, without a page. `faults` makes it misbehave in one way.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT_ID, CLIENT_SECRET = "memoryapp", "the client's secret"


class Issuer(ThreadingHTTPServer):
    """The server and what it knows. `asked` collects the parameters of authorization requests."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.claims: dict[str, Any] = {"sub": "person-1", "preferred_username": "ada", "name": "Ada L."}
        self.faults: set[str] = set()
        self.codes: dict[str, dict[str, str]] = {}
        self.tokens: set[str] = set()
        self.asked: list[dict[str, str]] = []
        self.redeemed = 0

    @property
    def url(self) -> str:
        """The address of the issuer."""
        return f"http://127.0.0.1:{self.server_port}"

    def authorize(self, address: str) -> str:
        """Return the address that the browser is sent back to."""
        asked = dict(parse_qsl(urlsplit(address).query))
        self.asked.append(asked)
        if "denied" in self.faults:
            return f"{asked['redirect_uri']}?{urlencode({'error': 'access_denied', 'state': asked['state']})}"
        code = secrets.token_urlsafe(16)
        self.codes[code] = asked
        return f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"

    def redeem(self, form: dict[str, str]) -> dict[str, Any] | None:
        """Return the tokens for a code; None where the client, its secret or its PKCE verifier is wrong."""
        asked = self.codes.pop(form.get("code", ""), None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        known = (form.get("client_id"), form.get("client_secret")) == (CLIENT_ID, CLIENT_SECRET)
        if asked is None or not known or challenge != asked.get("code_challenge"):
            return None
        self.redeemed += 1
        now, token = int(time.time()), secrets.token_urlsafe(16)
        self.tokens.add(token)
        claims = {
            **self.claims,
            "iss": "http://elsewhere.example" if "issuer" in self.faults else self.url,
            "aud": "another program" if "audience" in self.faults else CLIENT_ID,
            "iat": now,
            "exp": now - 120 if "expired" in self.faults else now + 300,
        }
        tokens = {"access_token": token, "token_type": "Bearer"}
        if "no id token" not in self.faults:
            key = rsa.generate_private_key(65537, 2048) if "signature" in self.faults else self.key
            tokens["id_token"] = jwt.encode(claims, key, algorithm="RS256", headers={"kid": "1"})
        return tokens

    def describe(self) -> dict[str, Any]:
        """Return the discovery document."""
        names = {
            "authorization_endpoint": "authorize",
            "token_endpoint": "token",
            "userinfo_endpoint": "userinfo",
            "jwks_uri": "jwks",
        }
        return {
            "issuer": self.url,
            **{name: f"{self.url}/{path}" for name, path in names.items()},
            "token_endpoint_auth_methods_supported": ["client_secret_post"],
        }


class _Handler(BaseHTTPRequestHandler):
    server: Issuer

    def log_message(self, *args: Any) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        """Answer discovery, authorization, keys and user information."""
        issuer, path = self.server, urlsplit(self.path).path
        if "nonsense" in issuer.faults:
            return self._send(200, ["nonsense"])
        if path == "/.well-known/openid-configuration":
            return self._send(500, {}) if "down" in issuer.faults else self._send(200, issuer.describe())
        if path == "/authorize":
            self.send_response(302)
            self.send_header("Location", issuer.authorize(self.path))
            self.end_headers()
            return None
        if path == "/jwks":
            key = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(issuer.key.public_key()))
            return self._send(200, {"keys": [{**key, "kid": "1", "alg": "RS256", "use": "sig"}]})
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if path != "/userinfo" or token not in issuer.tokens:
            return self._send(401, {})
        return self._send(200, issuer.claims | ({"sub": "another"} if "person" in issuer.faults else {}))

    def do_POST(self) -> None:
        """Answer requests for tokens."""
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        tokens = self.server.redeem({name: values[0] for name, values in parse_qs(body).items()})
        self._send(400, {"error": "invalid_grant"}) if tokens is None else self._send(200, tokens)

    def _send(self, status: int, content: Any) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def run_issuer() -> Iterator[Issuer]:
    """Run an issuer until the block ends."""
    issuer = Issuer()
    thread = threading.Thread(target=issuer.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield issuer
    finally:
        issuer.shutdown()
        issuer.server_close()
        thread.join(5)
