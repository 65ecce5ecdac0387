"""The extraction prompt and its grammar."""

from chat.memory import extraction_prompt
from chat.memory.extraction_examples import EXAMPLES, NO_FACTS
from chat.memory.extractor import parse_answer
from chat.memory.kinds import KINDS


def test_every_kind_is_named_in_the_system_text_and_in_the_grammar() -> None:
    for name in KINDS:
        assert f"\n{name} - " in extraction_prompt.SYSTEM
        assert f'"{name}"' in extraction_prompt.build_grammar()


def test_every_example_can_be_parsed() -> None:
    for said, notes in EXAMPLES:
        assert parse_answer(notes) is not None, said


def test_every_example_begins_with_a_subject_of_its_language() -> None:
    beginnings = tuple(s for row in extraction_prompt.SUBJECTS.values() for s in row)
    for _, notes in EXAMPLES:
        for line in notes.splitlines():
            assert line == NO_FACTS or line.partition(": ")[2].startswith(beginnings), line


def test_the_message_comes_last_after_the_question_it_answers() -> None:
    last = extraction_prompt.build_prompt("In Toledo.", "Where do you live?")[-1]
    assert (last.role, last.content) == ("user", "(asked: Where do you live?)\nIn Toledo.")
