"""How the engine is compiled for a processor, and the name under which it is kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryapp.bootstrap.engine import build_progress, engine_key
from memoryapp.bootstrap.flags import AVX512, AVX512_NEEDS, cmake_args
from memoryapp.machine import cpu_flags, memory_limit

ORDINARY = {"sse2", "sse4_2", "avx", "avx2", "bmi2", "fma", "f16c"}
LARGE = ORDINARY | AVX512_NEEDS
AMX = {"amx_tile", "amx_int8", "amx_bf16", "avx512_fp16"}

CPUINFO = """\
processor\t: 0
model name\t: Some Processor
flags\t\t: fpu sse2 avx2 fma
bugs\t\t: spectre_v1

processor\t: 1
flags\t\t: fpu sse2 avx2
"""


def test_an_ordinary_processor_gets_the_common_build() -> None:
    assert cmake_args(ORDINARY, {}) == "-DGGML_NATIVE=OFF -DLLAVA_BUILD=OFF"


def test_a_processor_with_all_of_avx512_gets_it() -> None:
    assert cmake_args(LARGE, {}).split() == ["-DGGML_NATIVE=OFF", "-DLLAVA_BUILD=OFF", *AVX512]


@pytest.mark.parametrize("missing", sorted(AVX512_NEEDS))
def test_avx512_is_left_out_when_any_of_its_abilities_is_missing(missing: str) -> None:
    assert "AVX512" not in cmake_args(LARGE - {missing}, {})


@given(st.sets(st.sampled_from(sorted(LARGE | AMX))))
def test_amx_and_the_native_architecture_are_never_compiled_in(processor: set[str]) -> None:
    flags = cmake_args(processor | AMX, {})
    assert "AMX" not in flags
    assert "-DGGML_NATIVE=OFF" in flags


def test_an_old_processor_gets_nothing_that_would_kill_it() -> None:
    flags = cmake_args({"sse2", "sse4_2", "avx"}, {}).split()
    assert {"-DGGML_AVX2=OFF", "-DGGML_FMA=OFF", "-DGGML_F16C=OFF", "-DGGML_BMI2=OFF"} <= set(flags)
    assert "-DGGML_AVX=OFF" not in flags


def test_a_system_that_lists_nothing_gets_the_common_build() -> None:
    assert cmake_args(frozenset(), {}) == "-DGGML_NATIVE=OFF -DLLAVA_BUILD=OFF"


def test_the_user_s_own_cmake_args_win_whole() -> None:
    assert cmake_args(LARGE, {"CMAKE_ARGS": "-DGGML_CUDA=ON"}) == "-DGGML_CUDA=ON"


def test_only_what_every_processor_lists_counts() -> None:
    assert cpu_flags(CPUINFO) == {"fpu", "sse2", "avx2"}


def test_arm_s_features_are_read_too() -> None:
    assert cpu_flags("processor : 0\nFeatures\t: fp asimd asimddp\n") == {"fp", "asimd", "asimddp"}


def test_text_without_abilities_lists_none() -> None:
    assert cpu_flags("processor : 0\n") == frozenset()


@pytest.mark.parametrize(("text", "limit"), [("max\n", None), ("2147483648\n", 2**31), ("", None)])
def test_a_container_s_memory_limit_is_read(text: str, limit: int | None) -> None:
    assert memory_limit(text) == limit


def test_the_key_tells_versions_pythons_platforms_and_flags_apart() -> None:
    base = engine_key("0.3.36", "cp311", "linux-x86_64", "-DA=1")
    others = [
        engine_key("0.3.37", "cp311", "linux-x86_64", "-DA=1"),
        engine_key("0.3.36", "cp312", "linux-x86_64", "-DA=1"),
        engine_key("0.3.36", "cp311", "linux-aarch64", "-DA=1"),
        engine_key("0.3.36", "cp311", "linux-x86_64", "-DA=0"),
    ]
    assert len({base, *others}) == 5
    assert base == engine_key("0.3.36", "cp311", "linux-x86_64", "-DA=1")
    assert base.startswith("0.3.36-cp311-linux-x86_64-")


@pytest.mark.parametrize(
    ("text", "shown"),
    [("", ""), ("Configuring", ""), ("[1/140] cc\n[70/140] c++ x\n warning: y", "50 %")],
)
def test_progress_is_read_from_the_last_step(text: str, shown: str) -> None:
    assert build_progress(text) == shown
