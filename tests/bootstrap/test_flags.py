"""The compiler flags of the engine for a processor, and the key of a build."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryapp.base.machine import parse_cpu_flags, parse_memory_limit
from memoryapp.bootstrap.engine import AVX512, AVX512_NEEDS, build_progress, cmake_args, engine_key

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


def test_a_processor_with_all_avx512_features_gets_avx512() -> None:
    assert cmake_args(LARGE, {}).split() == ["-DGGML_NATIVE=OFF", "-DLLAVA_BUILD=OFF", *AVX512]


@pytest.mark.parametrize("missing", sorted(AVX512_NEEDS))
def test_avx512_is_disabled_if_any_feature_is_missing(missing: str) -> None:
    assert "AVX512" not in cmake_args(LARGE - {missing}, {})


@given(st.sets(st.sampled_from(sorted(LARGE | AMX))))
def test_amx_and_the_native_architecture_are_never_enabled(processor: set[str]) -> None:
    flags = cmake_args(processor | AMX, {})
    assert "AMX" not in flags
    assert "-DGGML_NATIVE=OFF" in flags


def test_an_old_processor_gets_no_unsupported_instructions() -> None:
    flags = cmake_args({"sse2", "sse4_2", "avx"}, {}).split()
    assert {"-DGGML_AVX2=OFF", "-DGGML_FMA=OFF", "-DGGML_F16C=OFF", "-DGGML_BMI2=OFF"} <= set(flags)
    assert "-DGGML_AVX=OFF" not in flags


def test_unknown_features_give_the_common_build() -> None:
    assert cmake_args(frozenset(), {}) == "-DGGML_NATIVE=OFF -DLLAVA_BUILD=OFF"


def test_cmake_args_of_the_user_replace_all_flags() -> None:
    assert cmake_args(LARGE, {"CMAKE_ARGS": "-DGGML_CUDA=ON"}) == "-DGGML_CUDA=ON"


def test_only_features_of_every_processor_count() -> None:
    assert parse_cpu_flags(CPUINFO) == {"fpu", "sse2", "avx2"}


def test_arm_features_are_read() -> None:
    assert parse_cpu_flags("processor : 0\nFeatures\t: fp asimd asimddp\n") == {"fp", "asimd", "asimddp"}


def test_text_without_features_gives_none() -> None:
    assert parse_cpu_flags("processor : 0\n") == frozenset()


@pytest.mark.parametrize(("text", "limit"), [("max\n", None), ("2147483648\n", 2**31), ("", None)])
def test_the_memory_limit_of_a_container_is_read(text: str, limit: int | None) -> None:
    assert parse_memory_limit(text) == limit


def test_the_key_depends_on_version_python_platform_and_flags() -> None:
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
