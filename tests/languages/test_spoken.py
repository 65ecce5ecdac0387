"""What rooms without Django say to people is known where it is translated."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

from chat.views.spoken import _SENTENCES, _patterns

CHAT = Path(settings.BASE_DIR) / "chat"
# Errors whose text is a sentence for people; the modules that raise them.
ERRORS = {"ProviderError", "ModelNotReady", "PromptTooLong", "GrammarError", "SummaryFailed", "Status"}
ERRORS |= {"BadAddress", "ServerAway", "say"}
ROOMS = [
    *(CHAT / "llm").glob("*.py"),
    *(CHAT / "llm" / "remote").glob("*.py"),
    CHAT / "context" / "summary.py",
    CHAT / "generation" / "run.py",
]
REASONS = [CHAT / "memory" / name for name in ("frames.py", "ground.py", "extract.py", "reader.py")]
REASONS += [CHAT / "llm" / "remote" / "troubles.py", CHAT / "llm" / "registry.py"]
# Of the weights, what can be wrong when the app starts; the others end in the terminal.
WEIGHTS = {"Unknown", "Missing", "PathMissing"}


def spelled(node: ast.AST) -> str:
    """Return a string of the source with a word in the place of what is put into it, or ""."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(spelled(p) if isinstance(p, ast.Constant) else "something" for p in node.values)
    return ""


def raised(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ERRORS:
            given = [*node.args, *(k.value for k in node.keywords if k.arg == "sentence")]
            yield from (
                text for argument in given if " " in (text := spelled(argument)) and "manage.py " not in text
            )
        # self._failed builds its sentence in a variable
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "sentence":
            yield spelled(node.value)


def reasons(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text())
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "_").isupper():
            text = spelled(node.value)
            if " " in text and "\\" not in text:
                yield text


def of_weights() -> Iterator[str]:
    for node in ast.parse((CHAT / "llm" / "weights" / "errors.py").read_text()).body:
        if isinstance(node, ast.ClassDef) and node.name in WEIGHTS:
            for call in ast.walk(node):
                if isinstance(call, ast.Call) and getattr(call.func, "attr", "") == "__init__":
                    yield next(text for a in reversed(call.args) if " " in (text := spelled(a)))


SAID = {s for p in ROOMS for s in raised(p)} | {s for p in REASONS for s in reasons(p)} | set(of_weights())


def test_there_is_something_to_compare():
    assert len(SAID) > 25


@pytest.mark.parametrize("sentence", sorted(SAID))
def test_a_sentence_is_in_the_list(sentence):
    known = sentence in _SENTENCES or any(pattern.fullmatch(sentence) for pattern, _ in _patterns())
    assert known, "add it to chat/views/spoken.py"
