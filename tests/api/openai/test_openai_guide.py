"""The example in .github/docs/openai-api.md works as written."""

from __future__ import annotations

import re

from chat.actions.api_tokens import create_token
from chat.models import Conversation
from memoryapp.base.env import ROOT


def test_the_example_creates_a_conversation_that_is_kept(address, owner, scripted, capsys):
    guide = (ROOT / ".github" / "docs" / "openai-api.md").read_text()
    [example] = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    example = example.replace("http://127.0.0.1:8000", address)
    example = example.replace("mem_…", create_token(owner, "guide"))
    scripted.replies.append("Every day for a quarter of an hour.")
    exec(example, {})  # noqa: S102 - the code is from our own guide
    made = Conversation.objects.get()
    assert capsys.readouterr().out == f"Every day for a quarter of an hour. {made.pk}\n"
    assert (made.temporary, made.app.slug) == (False, "general")
