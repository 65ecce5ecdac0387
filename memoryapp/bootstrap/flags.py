"""How llama.cpp is compiled for this processor (design §4, build)."""

from collections.abc import Collection, Mapping

# Never the native architecture: it takes AMX where the processor lists it, and dies at the first token there.
BASE = ("-DGGML_NATIVE=OFF", "-DLLAVA_BUILD=OFF")

# 1.6 times faster prompts than AVX2, measured. Only together, and with what GGML_AVX512 itself implies.
AVX512 = ("-DGGML_AVX512=ON", "-DGGML_AVX512_VNNI=ON", "-DGGML_AVX512_VBMI=ON", "-DGGML_AVX512_BF16=ON")
AVX512_NEEDS = frozenset(
    ("avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni", "avx512vbmi", "avx512_bf16")
)

# llama.cpp's defaults without the native architecture; a processor that lacks one would die as with AMX.
DEFAULTS = {
    "sse4_2": "-DGGML_SSE42=OFF",
    "avx": "-DGGML_AVX=OFF",
    "avx2": "-DGGML_AVX2=OFF",
    "bmi2": "-DGGML_BMI2=OFF",
    "fma": "-DGGML_FMA=OFF",
    "f16c": "-DGGML_F16C=OFF",
}


def cmake_args(processor: Collection[str], env: Mapping[str, str]) -> str:
    """The CMAKE_ARGS for a processor with these abilities (names of /proc/cpuinfo; none where unknown).

    The user's own CMAKE_ARGS win whole.
    """
    if own := env.get("CMAKE_ARGS", "").strip():
        return own
    chosen = list(BASE)
    if frozenset(processor) >= AVX512_NEEDS:
        chosen += AVX512
    elif "sse2" in processor:
        chosen += [flag for ability, flag in DEFAULTS.items() if ability not in processor]
    return " ".join(chosen)
