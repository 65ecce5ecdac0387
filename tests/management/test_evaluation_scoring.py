"""The rules by which the results of labelled cases are scored."""

import pytest

from chat.management.evaluation.cases import (
    CaseError,
    ExtractionCase,
    RecallCase,
    ReplyCase,
    UpdateCase,
    WordingsCase,
    load_cases,
)
from chat.management.evaluation.scores import (
    CaseOutcome,
    KnownFact,
    contains_word,
    score_case,
    summarise_scores,
)


def case(expect=(), forbid=(), allow=()) -> ExtractionCase:
    groups = [{"any": words, "category": category} for words, category in expect]
    said = [{"role": "user", "content": "…"}]
    return ExtractionCase(id="x", messages=said, expect=groups, forbid=forbid, allow=allow)


def facts(*texts: str, category: str = "identity", seconds=()) -> CaseOutcome:
    return CaseOutcome(facts=[KnownFact(text, category) for text in texts], seconds=list(seconds))


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
def test_a_short_word_must_match_a_whole_word_and_a_longer_one_may_match_a_part(text, word, found):
    assert contains_word(text, word) is found


def test_a_group_is_matched_by_words_and_its_category_is_counted_separately():
    score = score_case(
        case([(["Oslo"], "identity"), (["jazz"], "preference")]), facts("User lives in Oslo", "Jazz")
    )
    assert (score.met, score.right_category) == (2, 1)
    assert summarise_scores("extraction", [score])["category_accuracy"] == 0.5


def test_an_unexpected_fact_lowers_precision_unless_it_is_allowed():
    outcome = facts("User lives in Oslo", "User has a bike", "User owns a cat")
    score = score_case(case([(["Oslo"], "identity")], allow=["cat"]), outcome)
    assert (score.stored, score.answering) == (3, 2)
    assert score.details["extra"] == ["User has a bike"]


def test_a_case_with_any_forbidden_string_counts_as_one_trap():
    score = score_case(case(forbid=["Paris", "Rome"]), facts("User lives in Paris", "User was born in Rome"))
    assert score.trapped
    assert summarise_scores("extraction", [score, score_case(case(), facts())])["cases_with_trap"] == 1


def test_sums_are_over_all_cases_and_the_median_is_over_all_messages():
    one = score_case(case([(["Oslo"], "identity")]), facts("User lives in Oslo", seconds=[1.0, 9.0]))
    two = score_case(case([(["a dog"], "identity"), (["tea"], "preference")]), facts("Tea", seconds=[2.0]))
    assert summarise_scores("extraction", [one, two]) == {
        "recall": round(2 / 3, 4),
        "precision": 1.0,
        "category_accuracy": 0.5,
        "cases_with_trap": 0,
        "seconds_per_message_p50": 2.0,
    }


def test_a_share_without_a_denominator_is_one():
    figures = summarise_scores("extraction", [score_case(case(), facts())])
    assert (figures["recall"], figures["precision"], figures["category_accuracy"]) == (1.0, 1.0, 1.0)
    assert summarise_scores("updates", []) == {"correct_share": 1.0}


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
def test_an_update_is_correct_if_it_gains_and_loses_and_stays_within_its_number(after, correct):
    update = UpdateCase(
        id="moved",
        facts=["User lives in Copenhagen"],
        message="I moved",
        max_facts=1,
        keeps_or_gains=[["London"]],
        loses=["lives in Copenhagen"],
    )
    assert score_case(update, facts(*after)).correct is correct


@pytest.mark.parametrize(("counts", "correct"), [([3, 3], True), ([3, 2, 1], False), ([3], False)])
def test_wordings_are_correct_if_each_fact_is_stored_once_and_counted_each_time(counts, correct):
    said = WordingsCase(id="w", facts=[["a1", "a2", "a3"], ["b1", "b2", "b3"]])
    after = CaseOutcome(
        facts=[KnownFact(f"fact {i}", "identity", mention_count=n) for i, n in enumerate(counts)]
    )
    assert score_case(said, after).correct is correct


def test_recall_is_scored_by_the_prompt():
    wanted = RecallCase(id="r", facts=["a"], message="hi", in_prompt=["Lyon"], not_in_prompt=["jazz"])
    assert score_case(wanted, CaseOutcome(prompt="User lives in Lyon")).correct
    wrong = score_case(wanted, CaseOutcome(prompt="User likes jazz"))
    assert (wrong.details["missing"], wrong.details["unwanted"]) == (["Lyon"], ["jazz"])


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"id": "a"}', "messages"),
        ("not json", "line 2"),
        ('{"id": "a", "messages": [{"role": "user", "content": "x"}], "expect": [{"any": []}]}', "expect"),
    ],
)
def test_an_invalid_line_is_named_with_its_number(tmp_path, line, said):
    good = '{"id": "g", "messages": [{"role": "user", "content": "x"}]}'
    file = tmp_path / "cases.jsonl"
    file.write_text(f"{good}\n{line}\n", encoding="utf-8")
    with pytest.raises(CaseError, match="line 2") as problem:
        load_cases("extraction", file)
    assert said in str(problem.value)


def test_a_missing_file_is_reported(tmp_path):
    with pytest.raises(CaseError, match="could not be read"):
        load_cases("updates", tmp_path / "none.jsonl")


class TestReplies:
    """Replies are judged by their words; a case counts by the share of its right samples."""

    CASE = ReplyCase(
        id="x", message="?", reply_any=[["tofu", "beans"], ["you"]], reply_none=["Chicken"], max_words=5
    )

    @pytest.mark.parametrize(
        ("reply", "fault"),
        [
            ("Tofu, for YOU.", ""),
            ("Tofu for me.", "lacks you"),
            ("Rice for you.", "lacks tofu or beans"),
            ("Tofu, no chicken for you.", "contains 'Chicken'"),
            ("Tofu with rice and beans for you.", "has 7 words"),
        ],
    )
    def test_a_wrong_reply_has_a_fault(self, reply, fault):
        scored = score_case(self.CASE, CaseOutcome(replies=[reply]))
        assert scored.details["faults"] == [[fault] if fault else []]
        assert scored.correct == (fault == "")

    def test_the_sum_is_the_mean_share_of_right_samples(self):
        scores = [
            score_case(self.CASE, CaseOutcome(replies=["Tofu for you.", "Rice."])),
            score_case(self.CASE, CaseOutcome(replies=["Beans for you."] * 2)),
        ]
        assert summarise_scores("replies", scores) == {"correct_share": 0.75}
