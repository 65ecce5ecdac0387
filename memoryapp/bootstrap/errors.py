"""Sentences for what can fail before the program runs, each with what to do."""

import shutil
import sys
from pathlib import Path

from memoryapp.base.error_text import AGAIN, PipError, find_pip_error


class BootstrapError(Exception):
    """A step failed; the text is a sentence for the user, "" where the failed program printed one."""


def python_version() -> str:
    """Return this Python's version, such as 3.11."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def explain_pip_failure(what: str, output: str, log: Path) -> str:
    """Return the sentence for a failed pip run from its output."""
    match find_pip_error(output):
        case PipError.DISK_FULL:
            return f"The disk is full, so {what} could not be installed. Make room. {AGAIN}"
        case PipError.CHECKSUM:
            return (
                f"A package of {what} is not the one we pinned: its checksum is wrong, so it was "
                f"not installed. A proxy or mirror may have changed it. The log is {log}. {AGAIN}"
            )
        case PipError.NO_PIP:
            return f"The environment in .venv has no pip. Delete the folder .venv. {AGAIN}"
        case PipError.CERTIFICATE:
            return (
                f"The package registry's certificate is not trusted here, so {what} could not be fetched. "
                f"Behind a company proxy, point PIP_CERT at its certificate. {AGAIN}"
            )
        case PipError.NO_NETWORK:
            return f"The package registry cannot be reached, so {what} could not be fetched. {AGAIN}"
        case PipError.REFUSED:
            return (
                f"The package registry does not hand out {what} for Python {python_version()} on this "
                f"system. The log is {log}. Check pip's index settings, or use another Python (3.11 to 3.13)."
            )
        case None:
            return f"Installing {what} failed. The log is {log}. {AGAIN}"


def explain_venv_failure(output: str, log: Path) -> str:
    """Return the sentence for a failed `python -m venv` from its output."""
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


def explain_compile_failure(output: str, log: Path) -> str:
    """Return the sentence for a failed compilation of the engine from its output."""
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


def compiler_hint() -> str:
    """Return how to install a C and C++ compiler on this system."""
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
