"""The example in the README works as it stands there."""

from __future__ import annotations

import re

from chat.actions.tokens import create_token
from chat.models import Conversation
from memoryapp.env import ROOT


def test_it_begins_a_conversation_that_stays(address, owner, scripted, capsys):
    examples = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    [example] = [text for text in examples if "from openai" in text]
    example = example.replace("http://127.0.0.1:8000", address)
    example = example.replace("mem_…", create_token(owner, "README"))
    scripted.replies.append("Every day for a quarter of an hour.")
    exec(example, {})  # noqa: S102 - it is our own
    made = Conversation.objects.get()
    assert capsys.readouterr().out == f"Every day for a quarter of an hour. {made.pk}\n"
    assert (made.temporary, made.app.slug) == (False, "general")
