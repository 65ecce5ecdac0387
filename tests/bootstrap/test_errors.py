"""Failures of the bootstrap are explained with what to do."""

import signal
from pathlib import Path

import pytest

from memoryapp.base import error_text
from memoryapp.base.error_text import PipError, find_pip_error
from memoryapp.bootstrap import errors

LOG = Path("/cache/logs/runtime.log")

OUTPUTS = {
    PipError.NO_NETWORK: (
        "WARNING: Retrying (Retry(total=4)) after connection broken by 'NewConnectionError(...: [Errno -3] "
        "Temporary failure in name resolution')': /simple/django/\n"
        "ERROR: No matching distribution found for django==5.2.19"
    ),
    PipError.REFUSED: (
        "ERROR: Could not find a version that satisfies the requirement django==5.2.19 (from: none)\n"
        "ERROR: No matching distribution found for django==5.2.19"
    ),
    PipError.CHECKSUM: (
        "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.\n"
        "    django==5.2.19: Expected sha256 aa Got bb"
    ),
    PipError.DISK_FULL: "ERROR: Could not install packages: OSError: [Errno 28] No space left on device",
    PipError.CERTIFICATE: "SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] ...'))",
    PipError.NO_PIP: "/x/.venv/bin/python: No module named pip",
}


@pytest.mark.parametrize("trouble", OUTPUTS)
def test_the_cause_is_found_in_the_output_of_pip(trouble: PipError) -> None:
    assert find_pip_error(OUTPUTS[trouble]) is trouble


def test_http_403_is_a_refusal() -> None:
    assert find_pip_error("ERROR: HTTP error 403 while getting the wheel") is PipError.REFUSED


def test_an_unknown_failure_has_no_cause() -> None:
    assert find_pip_error("Segmentation fault") is None


@pytest.mark.parametrize(
    ("output", "says", "way_out"),
    [
        (OUTPUTS[PipError.NO_NETWORK], "cannot be reached", "Run the same command again"),
        (OUTPUTS[PipError.REFUSED], "does not hand out", "another Python"),
        (OUTPUTS[PipError.CHECKSUM], "checksum is wrong", str(LOG)),
        (OUTPUTS[PipError.DISK_FULL], "disk is full", "Make room"),
        (OUTPUTS[PipError.CERTIFICATE], "certificate is not trusted", "PIP_CERT"),
        (OUTPUTS[PipError.NO_PIP], "has no pip", "Delete the folder .venv"),
        ("Segmentation fault", "failed", str(LOG)),
    ],
)
def test_a_failed_install_is_explained_with_what_to_do(output: str, says: str, way_out: str) -> None:
    sentence = errors.explain_pip_failure("the packages", output, LOG)
    assert says in sentence
    assert way_out in sentence
    assert "\n" not in sentence


@pytest.mark.parametrize(
    ("output", "says"),
    [
        ("The virtual environment was not created because ensurepip is not available.", "-venv"),
        ("/usr/bin/python3: No module named venv", "-venv"),
        ("OSError: [Errno 28] No space left on device", "Make room"),
        ("Error: [Errno 13] Permission denied: '/opt/x/.venv'", "Move the project"),
        ("what?", str(LOG)),
    ],
)
def test_a_failed_venv_is_explained_with_what_to_do(output: str, says: str) -> None:
    assert says in errors.explain_venv_failure(output, LOG)


@pytest.mark.parametrize(
    ("output", "says"),
    [
        ("fatal error: error writing to /tmp/x.s: No space left on device", "Make room"),
        ("c++: fatal error: Killed signal terminated program cc1plus", "lack of memory"),
        ("CMake Error: No CMAKE_CXX_COMPILER could be found.", "compiler does not work"),
        ("error: expected ';'", str(LOG)),
    ],
)
def test_a_failed_compilation_is_explained_with_what_to_do(output: str, says: str) -> None:
    assert says in errors.explain_compile_failure(output, LOG)


@pytest.mark.parametrize(
    ("code", "output", "says"),
    [
        (-signal.SIGILL, "", "CMAKE_ARGS="),
        (-signal.SIGKILL, "", "not enough memory"),
        (1, "ggml: failed to allocate buffer", "not enough memory"),
        (-signal.SIGSEGV, "", "SIGSEGV"),
        (1, "noise\nValueError: Failed to load model from file: x.gguf", "Failed to load model"),
        (1, "", "no reason"),
    ],
)
def test_a_failed_selftest_is_explained(code: int, output: str, says: str) -> None:
    assert says in error_text.explain_selftest_failure(code, output)


@pytest.mark.parametrize(
    ("platform", "program", "command"),
    [
        ("linux", "apt-get", "apt install build-essential"),
        ("linux", "dnf", "dnf install gcc gcc-c++"),
        ("linux", "", "gcc and g++"),
        ("darwin", "", "xcode-select --install"),
        ("win32", "", "Visual Studio"),
    ],
)
def test_a_missing_compiler_is_explained_with_the_command_of_the_system(
    monkeypatch: pytest.MonkeyPatch, platform: str, program: str, command: str
) -> None:
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}" if name == program else None)
    assert command in errors.compiler_hint()
