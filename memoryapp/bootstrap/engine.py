"""Compiles llama-cpp-python for this processor and installs it.

The wheel is kept in a folder whose name contains the version, the platform and a hash of the compiler flags:
pip's own cache ignores the flags and would install a wheel for another processor. Sources, build folder and
tools are kept until the wheel is complete, so that an interrupted compilation continues.
"""

import os
import re
import shutil
import tarfile
from collections.abc import Collection, Mapping
from pathlib import Path

from memoryapp.base.env import cache_dir
from memoryapp.base.error_text import AGAIN
from memoryapp.base.locking import hold_lock
from memoryapp.base.machine import read_cpu_flags
from memoryapp.bootstrap import environment
from memoryapp.bootstrap.console import run_logged, say
from memoryapp.bootstrap.environment import ENGINE, Interpreter, Lock
from memoryapp.bootstrap.errors import (
    BootstrapError,
    compiler_hint,
    explain_compile_failure,
    explain_pip_failure,
)

# Sources, objects and tools of a compilation use 0.7 GB (measured).
NEEDED_BYTES = 1_200_000_000
# Bytes read from the end of the log: command lines and warnings of the compiler are long, and less may
# contain no progress of ninja.
_TAIL_BYTES = 200_000
_C = ("cc", "gcc", "clang")
_CXX = ("c++", "g++", "clang++")


def engine_key(version: str, tag: str, platform: str, flags: str) -> str:
    """Return the name of the folder of one compiled engine."""
    return f"{version}-{tag}-{platform}-{environment.hash_of(flags)[:12]}"


def engine_folder(key: str) -> Path:
    """Return the folder of a compiled engine."""
    return cache_dir() / "engine" / key


def find_wheel(folder: Path) -> Path | None:
    """Return the compiled wheel in this folder, None where the compilation is not complete."""
    return next(iter(sorted(folder.glob("*.whl"))), None)


def current_key(interpreter: Interpreter, lock: Lock) -> str:
    """Return the key of the engine for this interpreter, machine and CMAKE_ARGS."""
    flags = cmake_args(read_cpu_flags(), os.environ)
    return engine_key(lock.engine_version, interpreter.tag, interpreter.platform, flags)


def ensure_engine(interpreter: Interpreter, lock: Lock, keep: int) -> str:
    """Compile the engine where it is missing, install it, and return its key. Raises BootstrapError."""
    key = current_key(interpreter, lock)
    if environment.is_done("engine", key):
        return key
    folder = engine_folder(key)
    wheel = find_wheel(folder)
    if wheel is None:
        folder.mkdir(parents=True, exist_ok=True)
        with hold_lock(
            folder / ".lock", lambda: say("Another start is compiling the engine; waiting for it.")
        ) as held:
            wheel = find_wheel(folder) or compile_engine(folder, interpreter, lock, [keep, held])
    log = environment.log_of("engine-install")
    pip = _pip_command(interpreter.path, "install", "--no-index", "--force-reinstall", wheel)
    code, output = run_logged("Installing the engine", pip, log, keep=[keep])
    if code:
        raise BootstrapError(explain_pip_failure("the engine", output, log))
    environment.mark_done("engine", key)
    return key


def check_can_compile(interpreter: Interpreter, lock: Lock) -> None:
    """Raise BootstrapError where the engine must be compiled and there is no compiler."""
    key = current_key(interpreter, lock)
    if not environment.is_done("engine", key) and find_wheel(engine_folder(key)) is None:
        require_compiler()


def compile_engine(folder: Path, interpreter: Interpreter, lock: Lock, keep: list[int]) -> Path:
    """Compile the engine in `folder` and return the wheel; about ten minutes on two cores.

    Raises BootstrapError.
    """
    require_compiler()
    free = shutil.disk_usage(folder).free
    if free < NEEDED_BYTES:
        raise BootstrapError(
            f"Compiling the engine needs {NEEDED_BYTES / 1e9:.1f} GB in {folder}; {free / 1e9:.1f} GB are "
            f"free. Make room. {AGAIN}"
        )
    tools = _ensure_tools(folder, lock, keep[0])
    source = _ensure_source(folder, tools, lock, keep)
    flags = cmake_args(read_cpu_flags(), os.environ)
    (folder / "flags.txt").write_text(flags + "\n")
    say("Compiling the language engine for this processor. Once only; about 10 minutes on two cores.")
    log = folder / "build.log"
    out = folder / "out"
    pip = _pip_command(tools, "wheel", "-v", "--no-build-isolation", "--no-index", "--wheel-dir", out, source)
    env = {
        "CMAKE_ARGS": flags,
        "SKBUILD_BUILD_DIR": str(folder / "build"),
        "TMPDIR": str(_empty_folder(folder / "tmp")),
        "PATH": f"{tools.parent}{os.pathsep}{os.environ.get('PATH', '')}",
    }
    code, output = run_logged(
        "Compiling", pip, log, env=env, keep=keep, detail=lambda: build_progress(_read_tail(log))
    )
    made = find_wheel(out)
    if code or made is None:
        raise BootstrapError(explain_compile_failure(output, log))
    wheel = made.replace(folder / made.name)
    for name in ("build", "source", "sdist", "tools", "tmp", "out"):
        shutil.rmtree(folder / name, ignore_errors=True)
    return wheel


def require_compiler() -> None:
    """Raise BootstrapError where there is no C or C++ compiler; cmake and ninja come from the lock."""
    for variable, names, language in (("CC", _C, "C"), ("CXX", _CXX, "C++")):
        own = os.environ.get(variable, "").split()
        if not any(shutil.which(name) for name in (own[:1] or names)):
            raise BootstrapError(
                f"There is no {language} compiler, and the engine is compiled here. {compiler_hint()}"
            )


def build_progress(text: str) -> str:
    """Return the progress of ninja from its output, such as "37 %"; "" before it starts."""
    steps = re.findall(r"\[(\d+)/(\d+)\]", text)
    if not steps:
        return ""
    done, total = (int(part) for part in steps[-1])
    return f"{100 * done // max(1, total)} %"


def _ensure_tools(folder: Path, lock: Lock, keep: int) -> Path:
    """Return the Python of an environment with the lock's cmake, ninja and build backend."""
    home = folder / "tools"
    python = environment.python_of(home)
    ready = home / "ready"
    if not ready.exists():
        environment.make_venv(home, "Making an environment for compiling", keep)
        environment.install_into(python, "build-tools", "the compiler's tools", lock.build, keep)
        ready.touch()
    return python


def _ensure_source(folder: Path, tools: Path, lock: Lock, keep: list[int]) -> Path:
    """Return the folder of the engine's sources, unpacked from the archive that the lock pins by its hash."""
    source = folder / "source"
    if source.is_dir():
        return source
    archives = _empty_folder(folder / "sdist")
    listing = folder / "engine.txt"
    listing.write_text(lock.engine)
    hashed = ("--require-hashes", "--no-build-isolation", "--no-binary", ENGINE, "-r", listing)
    pip = _pip_command(tools, "download", *hashed, "--dest", archives)
    log = folder / "download.log"
    env = {"TMPDIR": str(_empty_folder(folder / "tmp"))}
    code, output = run_logged("Fetching the engine's sources", pip, log, env=env, keep=keep)
    if code:
        raise BootstrapError(explain_pip_failure("the engine", output, log))
    unpacked = _empty_folder(folder / "unpacked")
    try:
        with tarfile.open(next(archives.glob("*.tar.gz"))) as archive:
            # `extraction_filter` exists since Python 3.11.4, and Debian 12 has 3.11.2. The archive is trusted
            # by its pinned hash.
            if hasattr(tarfile, "data_filter"):
                archive.extraction_filter = tarfile.data_filter
            archive.extractall(unpacked)  # noqa: S202
    except OSError as error:
        raise BootstrapError(
            f"The engine's sources could not be unpacked: {error.strerror or error}. {AGAIN}"
        ) from error
    next(unpacked.iterdir()).rename(source)
    shutil.rmtree(unpacked)
    return source


def _pip_command(python: Path, command: str, *arguments: str | Path) -> list[str | Path]:
    return [python, "-m", "pip", command, *environment.PIP, *arguments]


def _empty_folder(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _read_tail(log: Path) -> str:
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - _TAIL_BYTES))
            return file.read().decode(errors="replace")
    except OSError:
        return ""


# Not -march=native: it enables AMX where the processor lists it, and llama.cpp then crashes at the first
# token.
BASE = ("-DGGML_NATIVE=OFF", "-DLLAVA_BUILD=OFF")

# Prompts are read 1.6 times faster than with AVX2 (measured). Enabled only together, and with the features
# that GGML_AVX512 itself implies.
AVX512 = ("-DGGML_AVX512=ON", "-DGGML_AVX512_VNNI=ON", "-DGGML_AVX512_VBMI=ON", "-DGGML_AVX512_BF16=ON")
AVX512_NEEDS = frozenset(
    ("avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni", "avx512vbmi", "avx512_bf16")
)

# llama.cpp's defaults that must be switched off where the processor lacks the feature, or it would crash.
DEFAULTS = {
    "sse4_2": "-DGGML_SSE42=OFF",
    "avx": "-DGGML_AVX=OFF",
    "avx2": "-DGGML_AVX2=OFF",
    "bmi2": "-DGGML_BMI2=OFF",
    "fma": "-DGGML_FMA=OFF",
    "f16c": "-DGGML_F16C=OFF",
}


def cmake_args(processor: Collection[str], env: Mapping[str, str]) -> str:
    """Return the CMAKE_ARGS for a processor with these features (names of /proc/cpuinfo; empty where
    unknown).

    The user's own CMAKE_ARGS replace them.
    """
    if own := env.get("CMAKE_ARGS", "").strip():
        return own
    chosen = list(BASE)
    if frozenset(processor) >= AVX512_NEEDS:
        chosen += AVX512
    elif "sse2" in processor:
        chosen += [flag for ability, flag in DEFAULTS.items() if ability not in processor]
    return " ".join(chosen)
