"""The progress output of a download."""

import io
import re

import pytest

from chat.llm.weights.progress import ProgressBar, draw_bar, shorten_label


class TestProgress:
    @pytest.mark.parametrize(
        ("done", "shown"), [(0, "░░░░"), (1, "░░░░"), (50, "██░░"), (99, "███░"), (100, "████")]
    )
    def test_the_bar_is_full_only_at_the_end(self, done: int, shown: str) -> None:
        assert draw_bar(done, 100, 4) == shown

    @pytest.mark.parametrize(
        ("label", "shown"), [("model.onnx", "model.onnx"), ("qwen2.5-coder-q4_k_m.gguf", "qwen2.5…m.gguf")]
    )
    def test_a_long_label_is_shortened_in_the_middle(self, label: str, shown: str) -> None:
        assert shorten_label(label, 14) == shown

    def test_a_line_in_a_terminal_never_wraps(self, monkeypatch: pytest.MonkeyPatch) -> None:
        out = io.StringIO()
        monkeypatch.setattr(out, "isatty", lambda: True)
        monkeypatch.setenv("COLUMNS", "60")
        meter = ProgressBar(out, now=iter(range(100)).__next__)
        for done in range(0, 101, 10):
            meter("qwen2.5-coder-1.5b-instruct-q4_k_m.gguf", done * 10_000_000, 1_000_000_000)
        lines = re.split(r"[\r\n]", out.getvalue().replace("\x1b[K", ""))
        assert "█" in out.getvalue()
        assert max(len(line) for line in lines) < 60

    def test_a_log_gets_a_line_per_tenth_and_none_for_checking(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        meter = ProgressBar()
        for done in range(0, 101):
            meter("toy.gguf", done * 1_000_000, 100_000_000)
        meter("checking toy.gguf", 1, 1)
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) == 11
        assert lines[5] == "  toy.gguf: 50 % of 100 MB"
