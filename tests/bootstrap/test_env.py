"""Settings from environment variables, and the user folders of each platform."""

import stat
from pathlib import Path

import pytest

from memoryapp.base import env, service_urls
from memoryapp.base.service_urls import parse_database_url

HOME = Path("/home/maya")


@pytest.mark.parametrize(
    ("platform", "variables", "purpose", "folder"),
    [
        ("linux", {}, "cache", "/home/maya/.cache/memoryapp"),
        ("linux", {}, "data", "/home/maya/.local/share/memoryapp"),
        ("linux", {"XDG_CACHE_HOME": "/var/cache/maya"}, "cache", "/var/cache/maya/memoryapp"),
        ("linux", {"XDG_DATA_HOME": "relative"}, "data", "/home/maya/.local/share/memoryapp"),
        ("darwin", {"XDG_CACHE_HOME": "/x"}, "cache", "/home/maya/Library/Caches/memoryapp"),
        ("darwin", {}, "data", "/home/maya/Library/Application Support/memoryapp"),
        ("win32", {"LOCALAPPDATA": "/c/Local"}, "data", "/c/Local/memoryapp"),
        ("win32", {"LOCALAPPDATA": "/c/Local"}, "cache", "/c/Local/memoryapp/Cache"),
    ],
)
def test_each_platform_uses_its_own_user_folders(
    platform: str, variables: dict[str, str], purpose: str, folder: str
) -> None:
    assert env.user_folder(purpose, platform, variables, HOME) == Path(folder)


def test_the_data_folder_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATA_DIR", str(tmp_path / "deep" / "data"))
    assert stat.S_IMODE(env.data_dir().stat().st_mode) == 0o700
    assert env.database_path().parent == env.data_dir()


def test_the_models_folder_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL_DIR", "/srv/models")
    assert env.model_dir() == Path("/srv/models")
    monkeypatch.setenv("MODEL_DIR", "")
    assert env.model_dir() == env.cache_dir() / "models"


@pytest.mark.parametrize(
    ("text", "value"), [("1", True), ("Yes", True), ("on", True), ("0", False), ("false", False), ("", False)]
)
def test_booleans_are_read_in_their_usual_spellings(
    text: str, value: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_SWITCH", text)
    assert env.envbool("SOME_SWITCH", not value) is value


def test_unset_variables_take_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOME_VALUE", raising=False)
    assert env.envstr("SOME_VALUE", "a") == "a"
    assert env.envint("SOME_VALUE", 3) == 3
    assert env.envfloat("SOME_VALUE", 0.5) == 0.5
    assert env.envbool("SOME_VALUE", True) is True
    assert env.envlist("SOME_VALUE", ["a"]) == ["a"]


def test_lists_are_separated_by_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_VALUE", " a.org, b.org ,,")
    assert env.envlist("SOME_VALUE") == ["a.org", "b.org"]


@pytest.mark.parametrize(
    "read", [lambda: env.envint("SOME_VALUE", 1), lambda: env.envbool("SOME_VALUE", True)]
)
def test_an_invalid_value_names_the_variable(read: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_VALUE", "banana")
    assert callable(read)
    with pytest.raises(env.BadValue, match=r"SOME_VALUE must be .*'banana'"):
        read()


class TestDatabaseUrl:
    """DATABASE_URL selects PostgreSQL; errors never show its password."""

    @pytest.mark.parametrize(
        ("url", "expected"),
        [
            (
                "postgresql://maya:s%40crt%2F@db.example:5433/memory",
                ("memory", "maya", "s@crt/", "db.example", "5433"),
            ),
            ("postgres://db.example/memory", ("memory", "", "", "db.example", "")),
            ("postgresql:///memory?host=/run/postgresql", ("memory", "", "", "/run/postgresql", "")),
            ("postgresql://[::1]:5432/my%20memory/", ("my memory", "", "", "::1", "5432")),
        ],
    )
    def test_the_parts_of_a_url(self, url: str, expected: tuple[str, ...]) -> None:
        found = parse_database_url(url)
        assert tuple(found[name] for name in ("NAME", "USER", "PASSWORD", "HOST", "PORT")) == expected
        assert found["ENGINE"] == "django.db.backends.postgresql"
        assert found["OPTIONS"] == {}

    def test_parameters_of_a_url_are_passed_to_libpq(self) -> None:
        url = "postgresql://db.example/memory?sslmode=verify-full&connect_timeout=5"
        assert parse_database_url(url)["OPTIONS"] == {"sslmode": "verify-full", "connect_timeout": "5"}

    def test_connections_are_pooled_where_the_pool_is_installed(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        url = "postgresql://db.example/memory?sslmode=require"
        monkeypatch.setattr(service_urls, "find_spec", lambda name: object())
        found = parse_database_url(url, 32)
        assert found["OPTIONS"]["pool"]["max_size"] == 32
        assert found["OPTIONS"]["sslmode"] == "require"
        assert found["CONN_HEALTH_CHECKS"]
        assert "pool" not in parse_database_url(url, 0)["OPTIONS"]
        monkeypatch.setattr(service_urls, "find_spec", lambda name: None)
        assert parse_database_url(url, 32)["OPTIONS"] == {"sslmode": "require"}
        with pytest.raises(env.BadValue, match="DATABASE_POOL_SIZE"):
            parse_database_url(url, -1)

    @pytest.mark.parametrize(
        "url",
        [
            "mysql://maya:s3cr3t@db/memory",
            "postgresql://maya:s3cr3t@db",
            "postgresql://maya:s3cr3t@db:x/memory",
        ],
    )
    def test_an_invalid_url_is_refused_without_its_password(self, url: str) -> None:
        with pytest.raises(env.BadValue, match="DATABASE_URL") as refused:
            parse_database_url(url)
        assert "s3cr3t" not in str(refused.value)
