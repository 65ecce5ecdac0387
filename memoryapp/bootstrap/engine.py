"""Compiling llama-cpp-python for this processor, once a machine, and installing it.

The finished wheel is kept in a folder named after all that makes it what it is: pip's own cache does not know
the flags and would hand a wheel for one processor to another. An interrupted compilation goes on with the
files that are done, so sources, build folder and tools stay in place until the wheel is finished.
"""

import os
import re
import shutil
import tarfile
from pathlib import Path

from memoryapp.bootstrap import environment, stamps
from memoryapp.bootstrap.console import run, say
from memoryapp.bootstrap.environment import Interpreter
from memoryapp.bootstrap.errors import BootstrapError, compile_sentence, compiler_hint, pip_sentence
from memoryapp.bootstrap.flags import cmake_args
from memoryapp.bootstrap.lock import ENGINE, Lock
from memoryapp.env import cache_dir
from memoryapp.locking import locked
from memoryapp.machine import read_cpu_flags
from memoryapp.troubles import AGAIN

# Sources, objects and tools of a compilation, measured at 0.7 GB.
NEEDED_BYTES = 1_200_000_000
# The compiler's command lines and warnings are long: less than this may hold no step of ninja's.
_TAIL_BYTES = 200_000
_C = ("cc", "gcc", "clang")
_CXX = ("c++", "g++", "clang++")


def engine_key(version: str, tag: str, platform: str, flags: str) -> str:
    """The name of the folder for one compiled engine."""
    return f"{version}-{tag}-{platform}-{stamps.digest(flags)[:12]}"


def folder_of(key: str) -> Path:
    """Where a compiled engine is kept."""
    return cache_dir() / "engine" / key


def finished_wheel(folder: Path) -> Path | None:
    """The wheel that was compiled into this folder, if it was finished."""
    return next(iter(sorted(folder.glob("*.whl"))), None)


def current_key(interpreter: Interpreter, lock: Lock) -> str:
    """The key of the engine that this interpreter needs on this machine now."""
    flags = cmake_args(read_cpu_flags(), os.environ)
    return engine_key(lock.engine_version, interpreter.tag, interpreter.platform, flags)


def ensure(interpreter: Interpreter, lock: Lock, keep: int) -> str:
    """Compiles the engine once, installs it, and returns its key. Raises BootstrapError."""
    key = current_key(interpreter, lock)
    if stamps.is_fresh("engine", key):
        return key
    folder = folder_of(key)
    wheel = finished_wheel(folder)
    if wheel is None:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(
            folder / ".lock", lambda: say("Another start is compiling the engine; waiting for it.")
        ) as held:
            wheel = finished_wheel(folder) or build(folder, interpreter, lock, [keep, held])
    log = environment.log_of("engine-install")
    pip = _pip(interpreter.path, "install", "--no-index", "--force-reinstall", wheel)
    code, output = run("Installing the engine", pip, log, keep=[keep])
    if code:
        raise BootstrapError(pip_sentence("the engine", output, log))
    stamps.mark("engine", key)
    return key


def check_possible(interpreter: Interpreter, lock: Lock) -> None:
    """Raises BootstrapError at once where the engine would have to be compiled and cannot be."""
    key = current_key(interpreter, lock)
    if not stamps.is_fresh("engine", key) and finished_wheel(folder_of(key)) is None:
        require_compiler()


def build(folder: Path, interpreter: Interpreter, lock: Lock, keep: list[int]) -> Path:
    """Compiles the engine in `folder` and returns the wheel. Takes about ten minutes on two cores."""
    require_compiler()
    free = shutil.disk_usage(folder).free
    if free < NEEDED_BYTES:
        raise BootstrapError(
            f"Compiling the engine needs {NEEDED_BYTES / 1e9:.1f} GB in {folder}; {free / 1e9:.1f} GB are "
            f"free. Make room. {AGAIN}"
        )
    tools = _tools(folder, lock, keep[0])
    source = _source(folder, tools, lock, keep)
    flags = cmake_args(read_cpu_flags(), os.environ)
    (folder / "flags.txt").write_text(flags + "\n")
    say("Compiling the language engine for this processor. Once only; about 10 minutes on two cores.")
    log = folder / "build.log"
    out = folder / "out"
    pip = _pip(tools, "wheel", "-v", "--no-build-isolation", "--no-index", "--wheel-dir", out, source)
    env = {
        "CMAKE_ARGS": flags,
        "SKBUILD_BUILD_DIR": str(folder / "build"),
        "TMPDIR": str(_fresh(folder / "tmp")),
        "PATH": f"{tools.parent}{os.pathsep}{os.environ.get('PATH', '')}",
    }
    code, output = run("Compiling", pip, log, env=env, keep=keep, detail=lambda: build_progress(_tail(log)))
    made = finished_wheel(out)
    if code or made is None:
        raise BootstrapError(compile_sentence(output, log))
    wheel = made.replace(folder / made.name)
    for name in ("build", "source", "sdist", "tools", "tmp", "out"):
        shutil.rmtree(folder / name, ignore_errors=True)
    return wheel


def require_compiler() -> None:
    """Raises BootstrapError where there is no C or no C++ compiler. cmake and ninja come from the lock."""
    for variable, names, language in (("CC", _C, "C"), ("CXX", _CXX, "C++")):
        own = os.environ.get(variable, "").split()
        if not any(shutil.which(name) for name in (own[:1] or names)):
            raise BootstrapError(
                f"There is no {language} compiler, and the engine is compiled here. {compiler_hint()}"
            )


def build_progress(text: str) -> str:
    """How far ninja has come, from the end of its output: "37 %", or nothing before it starts."""
    steps = re.findall(r"\[(\d+)/(\d+)\]", text)
    if not steps:
        return ""
    done, total = (int(part) for part in steps[-1])
    return f"{100 * done // max(1, total)} %"


def _tools(folder: Path, lock: Lock, keep: int) -> Path:
    """An environment with cmake, ninja and the build backend, all from the lock."""
    home = folder / "tools"
    python = environment.python_of(home)
    ready = home / "ready"
    if not ready.exists():
        environment.make(home, "Making an environment for compiling", keep)
        environment.install_into(python, "build-tools", "the compiler's tools", lock.build, keep)
        ready.touch()
    return python


def _source(folder: Path, tools: Path, lock: Lock, keep: list[int]) -> Path:
    """The engine's sources, unpacked from the archive whose hash the lock names."""
    source = folder / "source"
    if source.is_dir():
        return source
    archives = _fresh(folder / "sdist")
    listing = folder / "engine.txt"
    listing.write_text(lock.engine)
    hashed = ("--require-hashes", "--no-build-isolation", "--no-binary", ENGINE, "-r", listing)
    pip = _pip(tools, "download", *hashed, "--dest", archives)
    log = folder / "download.log"
    env = {"TMPDIR": str(_fresh(folder / "tmp"))}
    code, output = run("Fetching the engine's sources", pip, log, env=env, keep=keep)
    if code:
        raise BootstrapError(pip_sentence("the engine", output, log))
    unpacked = _fresh(folder / "unpacked")
    try:
        with tarfile.open(next(archives.glob("*.tar.gz"))) as archive:
            # Python 3.11.4 brought the filter, and Debian 12 has 3.11.2. The pinned hash is what we trust.
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


def _pip(python: Path, command: str, *arguments: str | Path) -> list[str | Path]:
    return [python, "-m", "pip", command, *environment.PIP, *arguments]


def _fresh(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _tail(log: Path) -> str:
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - _TAIL_BYTES))
            return file.read().decode(errors="replace")
    except OSError:
        return ""
