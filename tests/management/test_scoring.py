"""How a run over labelled cases is judged: the rules that the cases' own description gives."""

import pytest

from chat.management.evaluation.cases import (
    CaseError,
    ExtractionCase,
    RecallCase,
    UpdateCase,
    WordingsCase,
    load,
)
from chat.management.evaluation.scoring import Known, Outcome, judge, says, summary


def case(expect=(), forbid=(), allow=()) -> ExtractionCase:
    groups = [{"any": words, "category": category} for words, category in expect]
    said = [{"role": "user", "content": "…"}]
    return ExtractionCase(id="x", messages=said, expect=groups, forbid=forbid, allow=allow)


def facts(*texts: str, category: str = "identity", seconds=()) -> Outcome:
    return Outcome(facts=[Known(text, category) for text in texts], seconds=list(seconds))


@pytest.mark.parametrize(
    ("text", "word", "found"),
    [
        ("User lives in OSLO", "oslo", True),
        ("User uses Go", "go", True),
        ("User's goal is a marathon", "Go", False),
        ("User is 34 years old", "34", True),
        ("User has 340 sheep", "34", False),
        ("User likes jazzy tunes", "jazz", True),
        ("用户吃素食", "素食", True),
        ("L'utilisateur boit du thé", "thé", True),
        ("La maison est à Théoule", "thé", False),
    ],
)
def test_a_short_word_must_stand_alone_and_a_longer_one_may_be_part_of_another(text, word, found):
    assert says(text, word) is found


def test_a_group_is_met_by_words_whatever_the_category_which_is_counted_apart():
    score = judge(
        case([(["Oslo"], "identity"), (["jazz"], "preference")]), facts("User lives in Oslo", "Jazz")
    )
    assert (score.met, score.right_category) == (2, 1)
    assert summary("extraction", [score])["category_accuracy"] == 0.5


def test_a_fact_that_answers_nothing_counts_against_precision_unless_it_is_allowed():
    outcome = facts("User lives in Oslo", "User has a bike", "User owns a cat")
    score = judge(case([(["Oslo"], "identity")], allow=["cat"]), outcome)
    assert (score.stored, score.answering) == (3, 2)
    assert score.details["extra"] == ["User has a bike"]


def test_a_case_with_any_forbidden_string_is_one_trap():
    score = judge(case(forbid=["Paris", "Rome"]), facts("User lives in Paris", "User was born in Rome"))
    assert score.trapped
    assert summary("extraction", [score, judge(case(), facts())])["cases_with_trap"] == 1


def test_sums_are_over_all_cases_and_the_median_over_all_messages_that_were_read():
    one = judge(case([(["Oslo"], "identity")]), facts("User lives in Oslo", seconds=[1.0, 9.0]))
    two = judge(case([(["a dog"], "identity"), (["tea"], "preference")]), facts("Tea", seconds=[2.0]))
    assert summary("extraction", [one, two]) == {
        "recall": round(2 / 3, 4),
        "precision": 1.0,
        "category_accuracy": 0.5,
        "cases_with_trap": 0,
        "seconds_per_message_p50": 2.0,
    }


def test_where_there_is_nothing_to_divide_by_the_share_is_one():
    figures = summary("extraction", [judge(case(), facts())])
    assert (figures["recall"], figures["precision"], figures["category_accuracy"]) == (1.0, 1.0, 1.0)
    assert summary("updates", []) == {"correct_share": 1.0}


@pytest.mark.parametrize(
    ("after", "correct"),
    [
        (["User lives in London"], True),
        (["User lives in London", "User likes tea"], False),
        (["User lives in Copenhagen"], False),
        (["User lives in London, formerly lives in Copenhagen"], False),
        ([], False),
    ],
)
def test_an_update_is_correct_when_it_gains_loses_and_stays_within_its_number(after, correct):
    update = UpdateCase(
        id="moved",
        facts=["User lives in Copenhagen"],
        message="I moved",
        max_facts=1,
        keeps_or_gains=[["London"]],
        loses=["lives in Copenhagen"],
    )
    assert judge(update, facts(*after)).correct is correct


@pytest.mark.parametrize(("counts", "correct"), [([3, 3], True), ([3, 2, 1], False), ([3], False)])
def test_wordings_are_correct_when_each_fact_is_there_once_and_counted_each_time(counts, correct):
    said = WordingsCase(id="w", facts=[["a1", "a2", "a3"], ["b1", "b2", "b3"]])
    after = Outcome(facts=[Known(f"fact {i}", "identity", mention_count=n) for i, n in enumerate(counts)])
    assert judge(said, after).correct is correct


def test_recall_is_judged_by_what_stands_in_the_prompt():
    wanted = RecallCase(id="r", facts=["a"], message="hi", in_prompt=["Lyon"], not_in_prompt=["jazz"])
    assert judge(wanted, Outcome(prompt="User lives in Lyon")).correct
    wrong = judge(wanted, Outcome(prompt="User likes jazz"))
    assert (wrong.details["missing"], wrong.details["unwanted"]) == (["Lyon"], ["jazz"])


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"id": "a"}', "messages"),
        ("not json", "line 2"),
        ('{"id": "a", "messages": [{"role": "user", "content": "x"}], "expect": [{"any": []}]}', "expect"),
    ],
)
def test_a_line_that_is_no_case_is_named_with_its_number(tmp_path, line, said):
    good = '{"id": "g", "messages": [{"role": "user", "content": "x"}]}'
    file = tmp_path / "cases.jsonl"
    file.write_text(f"{good}\n{line}\n", encoding="utf-8")
    with pytest.raises(CaseError, match="line 2") as problem:
        load("extraction", file)
    assert said in str(problem.value)


def test_a_file_that_is_not_there_is_said_in_words(tmp_path):
    with pytest.raises(CaseError, match="could not be read"):
        load("updates", tmp_path / "none.jsonl")
