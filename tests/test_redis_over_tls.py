"""Redis over TLS, with a certificate of one's own."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from django.utils import timezone

from memoryapp.base.redis import check_redis, connect
from tests.redis_server import RedisServer, RedisUnavailable, run_redis
from tests.search.postgresql import skip_without_server


def write_certificate(path: Path) -> None:
    """Write a certificate for 127.0.0.1 that signs itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Redis of a test")])
    now, here = timezone.now(), x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    made = x509.CertificateBuilder(
        issuer_name=name,
        subject_name=name,
        public_key=key.public_key(),
        serial_number=x509.random_serial_number(),
        not_valid_before=now - timedelta(days=1),
        not_valid_after=now + timedelta(days=1),
    )
    made = made.add_extension(here, critical=False)
    made = made.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    signed = made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    path.write_bytes(signed + key.private_bytes(*form))


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A Redis that speaks TLS only, with a certificate that no machine trusts by itself."""
    path = tmp_path_factory.mktemp("tls") / "own.pem"
    write_certificate(path)
    try:
        with run_redis(path) as server:
            yield server
    except RedisUnavailable as reason:
        skip_without_server(reason)


def test_an_own_authority_is_accepted_by_its_file_in_the_address(secured, settings):
    settings.REDIS_URL = secured.url
    assert check_redis() == ""
    with connect() as client:
        client.set("memoryapp:greeting", "hello")
        assert client.get("memoryapp:greeting") == "hello"


def test_without_the_file_the_certificate_is_refused_and_the_sentence_says_what_to_do(secured, settings):
    settings.REDIS_URL = secured.url.partition("?")[0]
    said = check_redis()
    assert "certificate is not accepted" in said
    assert "?ssl_ca_certs=" in said
    assert str(secured.port) not in said


def test_a_certificate_for_another_name_is_refused(secured, settings):
    settings.REDIS_URL = secured.url.replace("127.0.0.1", "localhost")
    assert "certificate is not accepted" in check_redis()


def test_a_file_that_is_missing_is_told(secured, settings):
    settings.REDIS_URL = f"{secured.url}-elsewhere"
    assert check_redis() == "Redis does not answer: a file that REDIS_URL names does not exist."
