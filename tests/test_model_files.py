"""A file that is no chat model is told as what it is, before the engine is asked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.llm import weights
from chat.llm.weights.entries import choose_model, require
from chat.llm.weights.errors import UnusableFile
from chat.llm.weights.gguf import find_fault
from memoryapp.base.error_text import explain_selftest_failure
from tests.gguf import make_gguf
from tests.small_model import require_small_model


@pytest.fixture
def judge(tmp_path):
    """Writes a file and returns the code of its fault, "" without one."""

    def judge(content: bytes, name: str = "m.gguf") -> str:
        path = tmp_path / name
        path.write_bytes(content)
        fault = find_fault(path)
        return "" if fault is None else fault.code

    return judge


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (make_gguf(general__architecture="qwen3"), ""),
        (make_gguf(general__architecture="qwen3", data=0), "model-file-incomplete"),
        (make_gguf(general__architecture="qwen3")[:60], "model-file-incomplete"),
        (make_gguf(general__architecture="clip"), "model-file-projector"),
        (make_gguf(general__architecture="qwen2vl", general__type="mmproj"), "model-file-projector"),
        (make_gguf(general__architecture="llama", general__type="adapter"), "model-file-adapter"),
        (make_gguf(general__architecture="nomic-bert"), "model-file-embedder"),
        (make_gguf(version=1), "model-file-old"),
        (b"tjgg" + bytes(64), "model-file-old"),
        (b"PK\3\4 a zip", "model-file-not-gguf"),
        (b"version https://git-lfs.github.com/spec/v1", "model-file-not-gguf"),
        (b"", "model-file-not-gguf"),
        (b"GGUF", "model-file-old"),
    ],
)
def test_each_kind_of_file_has_its_sentence(judge, content, code):
    assert judge(content) == code


def test_a_later_part_names_the_first(judge):
    later = make_gguf(general__architecture="qwen3", split__no=1, split__count=2)
    assert judge(later, "m-00002-of-00002.gguf") == "model-file-part"


def test_a_first_part_needs_the_others(judge):
    first = make_gguf(general__architecture="qwen3", split__no=0, split__count=2)
    assert judge(first, "m-00001-of-00002.gguf") == "model-file-part-missing"
    judge(first, "m-00002-of-00002.gguf")
    assert judge(first, "m-00001-of-00002.gguf") == ""


@given(st.binary(max_size=200), st.integers(0, 300))
def test_no_content_is_too_odd_to_judge(tmp_path_factory, content, place):
    whole = make_gguf(general__architecture="qwen3")
    path = tmp_path_factory.getbasetemp() / "odd.gguf"
    path.write_bytes(whole[:place] + content + whole[place + len(content) :])
    fault = find_fault(path)
    assert fault is None or path.name in str(fault)


def test_the_models_of_the_catalogue_have_no_fault():
    assert find_fault(require_small_model()) is None


def test_the_file_of_the_user_is_judged_before_it_is_loaded(tmp_path):
    path = tmp_path / "mmproj.gguf"
    path.write_bytes(make_gguf(general__architecture="clip"))
    with pytest.raises(UnusableFile, match="projector of a model for pictures"):
        require(choose_model({"MODEL_PATH": str(path)}))
    assert issubclass(UnusableFile, weights.WeightsError)


def test_a_kind_of_model_that_the_engine_does_not_know_is_told():
    output = "llama_model_load: error loading model: unknown model architecture: 'qwen9'\nValueError: Failed"
    assert "does not know this kind of model (qwen9)" in explain_selftest_failure(1, output)
