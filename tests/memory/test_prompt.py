"""The prompt is a cached prefix, and its grammar a closed form."""

from chat.memory import prompt
from chat.memory.examples import EXAMPLES
from chat.memory.kinds import KINDS
from chat.memory.reader import parse


def test_every_kind_is_named_in_the_system_text_and_in_the_grammar() -> None:
    for name in KINDS:
        assert f"\n{name} - " in prompt.SYSTEM
        assert f'"{name}"' in prompt.grammar()


def test_every_example_is_in_the_form_that_is_asked_for() -> None:
    for said, notes in EXAMPLES:
        assert parse(notes) is not None, said


def test_every_example_begins_as_its_languages_grammar_lets_a_fact_begin() -> None:
    beginnings = tuple(s for row in prompt.SUBJECTS.values() for s in row)
    for _, notes in EXAMPLES:
        for line in notes.splitlines():
            assert line == prompt.NONE or line.partition(": ")[2].startswith(beginnings), line


def test_the_message_comes_last_after_the_question_it_answers() -> None:
    last = prompt.turns("In Toledo.", "Where do you live?")[-1]
    assert (last.role, last.content) == ("user", "(asked: Where do you live?)\nIn Toledo.")
