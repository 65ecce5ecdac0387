"""The checks and the preparation of the start command."""

import socket
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryapp.bootstrap import environment, preparation, start
from memoryapp.bootstrap.errors import BootstrapError
from tests.gguf import make_gguf


class TestStart:
    @pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "localhost", "::1", "[::1]"])
    def test_loopback_is_allowed(self, host: str) -> None:
        start.check_host(host, {})

    @pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.5", "::", "example.org"])  # noqa: S104
    def test_other_addresses_need_server_mode(self, host: str) -> None:
        with pytest.raises(BootstrapError, match="MODE=server"):
            start.check_host(host, {})
        start.check_host(host, {"MODE": "server"})

    @pytest.fixture
    def taken(self) -> Iterator[int]:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            yield listener.getsockname()[1]

    def test_a_taken_port_suggests_another_one(self, taken: int) -> None:
        with pytest.raises(BootstrapError, match=f"Port {taken} is taken.*--port {taken + 1}"):
            start.check_port("127.0.0.1", taken)

    def test_a_free_port_is_accepted(self, taken: int) -> None:
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            free = other.getsockname()[1]
        start.check_port("127.0.0.1", free)

    @pytest.mark.parametrize("port", [0, -1, 65536])
    def test_an_invalid_port_is_refused(self, port: int) -> None:
        with pytest.raises(BootstrapError, match="is no port"):
            start.check_port("127.0.0.1", port)

    @pytest.mark.parametrize(
        ("model", "expected"),
        [
            (None, {"MODEL": "a", "MODEL_PATH": "/b.gguf"}),
            ("smollm2-135m", {"MODEL": "smollm2-135m"}),
            ("mine.gguf", {"MODEL_PATH": "mine.gguf"}),
        ],
    )
    def test_the_model_of_the_command_line_is_used(self, model: str | None, expected: dict[str, str]) -> None:
        env = {"MODEL": "a", "MODEL_PATH": "/b.gguf"}
        preparation.choose_model(model, env)
        assert env == expected


class TestWeights:
    @pytest.fixture(autouse=True)
    def _no_weights(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("MODEL_DIR", str(tmp_path / "models"))

    def test_missing_weights_are_none(self) -> None:
        assert preparation.find_weights(["smollm2-135m", "minilm-l6-int8"]) == [None, None]

    def test_an_embedder_that_is_installed_with_the_program_is_not_fetched(self) -> None:
        [found] = preparation.find_weights(["embedder"])
        assert found is not None

    def test_an_embedder_of_the_catalogue_that_the_user_chose_is_fetched(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("EMBEDDER", "minilm-l6-int8")
        assert preparation.find_weights(["embedder"]) == [None]

    def test_the_model_file_of_the_user_is_found(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        own = tmp_path / "mine.gguf"
        own.write_bytes(make_gguf(general__architecture="qwen3"))
        monkeypatch.setenv("MODEL_PATH", str(own))
        assert preparation.find_weights(["chat", "minilm-l6-int8"]) == [own, None]

    def test_an_unknown_model_is_refused_before_anything_is_created(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MODEL", "gpt")
        with pytest.raises(BootstrapError, match="no model named 'gpt'"):
            preparation.find_weights(["chat", "embedder"])

    def test_the_start_continues_without_an_embedder(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(preparation, "fetch_weights", lambda interpreter, names: False)
        python = environment.Interpreter(Path("python"), "cp311", "linux-x86_64", Path())
        assert preparation.ensure_model(python, [Path("mine.gguf"), None]) == Path("mine.gguf")
        assert "memory compares words" in capsys.readouterr().out

    def test_the_start_fails_without_the_model(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(preparation, "fetch_weights", lambda interpreter, names: False)
        python = environment.Interpreter(Path("python"), "cp311", "linux-x86_64", Path())
        with pytest.raises(BootstrapError):
            preparation.ensure_model(python, [None, None])


class TestDatabase:
    def test_a_missing_database_has_no_migrations(self, tmp_path: Path) -> None:
        assert preparation.applied_migrations(tmp_path / "none.sqlite3") is None

    def test_a_restored_older_database_is_migrated_again(self, tmp_path: Path) -> None:
        path = tmp_path / "db.sqlite3"
        with sqlite3.connect(path) as database:
            database.execute("CREATE TABLE django_migrations (app TEXT, name TEXT)")
            database.execute("INSERT INTO django_migrations VALUES ('chat', '0001_initial')")
        older = preparation.applied_migrations(path)
        with sqlite3.connect(path) as database:
            database.execute("INSERT INTO django_migrations VALUES ('chat', '0002_more')")
        assert older is not None
        assert preparation.applied_migrations(path) != older

    def test_a_file_that_is_no_database_has_no_migrations(self, tmp_path: Path) -> None:
        path = tmp_path / "db.sqlite3"
        path.write_text("not a database")
        assert preparation.applied_migrations(path) is None
