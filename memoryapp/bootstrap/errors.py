"""What can go wrong before the program runs, each as a sentence with the way out."""

import shutil
import signal
import sys
from pathlib import Path

from memoryapp.pip import Trouble, trouble_in
from memoryapp.troubles import AGAIN


class BootstrapError(Exception):
    """A step cannot be done; the text says why and what to do."""


def python_version() -> str:
    """This Python's version as people write it, 3.11."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def pip_sentence(what: str, output: str, log: Path) -> str:
    """The sentence for a failed run of pip, from its output."""
    match trouble_in(output):
        case Trouble.DISK_FULL:
            return f"The disk is full, so {what} could not be installed. Make room. {AGAIN}"
        case Trouble.CHECKSUM:
            return (
                f"A package of {what} is not the one we pinned: its checksum is wrong, so it was "
                f"not installed. A proxy or mirror may have changed it. The log is {log}. {AGAIN}"
            )
        case Trouble.NO_PIP:
            return f"The environment in .venv has no pip. Delete the folder .venv. {AGAIN}"
        case Trouble.CERTIFICATE:
            return (
                f"The package registry's certificate is not trusted here, so {what} could not be fetched. "
                f"Behind a company proxy, point PIP_CERT at its certificate. {AGAIN}"
            )
        case Trouble.NO_NETWORK:
            return f"The package registry cannot be reached, so {what} could not be fetched. {AGAIN}"
        case Trouble.REFUSED:
            return (
                f"The package registry does not hand out {what} for Python {python_version()} on this "
                f"system. The log is {log}. Check pip's index settings, or use another Python (3.11 to 3.13)."
            )
        case None:
            return f"Installing {what} failed. The log is {log}. {AGAIN}"


def venv_sentence(output: str, log: Path) -> str:
    """The sentence for a failed `python -m venv`, from its output."""
    text = output.lower()
    if "ensurepip" in text or "no module named venv" in text:
        return (
            "This Python has no venv module. Install it (Debian, Ubuntu: apt install "
            f"python{python_version()}-venv; other systems: a Python from python.org has it). {AGAIN}"
        )
    if "no space left" in text or "errno 28" in text:
        return f"The disk is full, so .venv could not be made. Make room. {AGAIN}"
    if "permission denied" in text or "errno 13" in text:
        return "This folder cannot be written to, so .venv could not be made. Move the project."
    return f"Making .venv failed. The log is {log}."


def compile_sentence(output: str, log: Path) -> str:
    """The sentence for a failed compilation of the engine, from its output."""
    text = output.lower()
    if "no space left on device" in text:
        return f"The disk is full, so the engine could not be compiled. Make room for about 1 GB. {AGAIN}"
    if "killed" in text and "signal" in text:
        return (
            "The compiler was ended by the system, most likely for lack of memory. Close other programs, or "
            f"set CMAKE_BUILD_PARALLEL_LEVEL=1. {AGAIN}"
        )
    if "no cmake_c_compiler" in text or "no cmake_cxx_compiler" in text or "is not able to compile" in text:
        return f"The C compiler does not work. {compiler_hint()} The log is {log}."
    return f"Compiling the engine failed. The log is {log}."


def proof_sentence(code: int, output: str) -> str:
    """The sentence for a first decode that failed; negative exit codes are signals."""
    if code == -signal.SIGKILL or "memoryerror" in output.lower() or "failed to allocate" in output.lower():
        return (
            "There is not enough memory for this model. Close other programs, or choose a smaller one: "
            "python3 manage.py start --model qwen2.5-coder-0.5b"
        )
    if code == -signal.SIGILL:
        return (
            "The engine uses an instruction that this processor does not have. Compile it plainly: "
            "CMAKE_ARGS='-DGGML_NATIVE=OFF -DGGML_AVX=OFF -DGGML_AVX2=OFF -DGGML_FMA=OFF -DGGML_F16C=OFF "
            "-DGGML_BMI2=OFF' python3 manage.py start"
        )
    if code < 0:
        return f"The engine died ({signal.Signals(-code).name}) at its first sentence."
    lines = output.strip().splitlines()
    return f"The engine could not use the model: {lines[-1] if lines else 'it gave no reason.'}"


def compiler_hint() -> str:
    """How to install a C and C++ compiler on this system."""
    if sys.platform == "darwin":
        return "Install one: xcode-select --install"
    if sys.platform == "win32":
        return "Install the C++ build tools of Visual Studio."
    for program, command in (
        ("apt-get", "apt install build-essential"),
        ("dnf", "dnf install gcc gcc-c++"),
        ("pacman", "pacman -S base-devel"),
        ("zypper", "zypper install gcc gcc-c++"),
        ("apk", "apk add build-base"),
    ):
        if shutil.which(program):
            return f"Install one: sudo {command}"
    return "Install gcc and g++, or clang."
