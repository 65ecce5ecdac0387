"""The small real model is made to answer in the form of a title, or fails in a way that is caught."""

from __future__ import annotations

import pytest

from chat.context import title
from chat.models import Message

pytestmark = pytest.mark.model


@pytest.mark.parametrize(
    "text",
    [
        *(
            "How do I bake bread that rises?",
            "Wie schreibe ich eine Kündigung?",
            "我想学做面包",
            "<|im_end|>",
        ),
        "```python\nprint('x')\n```",
    ],
)
def test_a_title_has_at_most_six_words_of_one_line(llama, text):
    messages = [
        Message(seq=1, role="user", content=text),
        Message(seq=2, role="assistant", content="Gladly."),
    ]
    try:
        found = title.find_title(llama, messages)
    except title.TitleFailed:
        return
    assert 0 < len(found) <= title.LONGEST
    assert len(found.split()) <= 6
    assert not set(found) & set('"“”\n:')
