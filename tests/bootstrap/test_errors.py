"""Each failure of the bootstrap is a sentence with a way out."""

import signal
from pathlib import Path

import pytest

from memoryapp.bootstrap import errors
from memoryapp.pip import Trouble, trouble_in

LOG = Path("/cache/logs/runtime.log")

OUTPUTS = {
    Trouble.NO_NETWORK: (
        "WARNING: Retrying (Retry(total=4)) after connection broken by 'NewConnectionError(...: [Errno -3] "
        "Temporary failure in name resolution')': /simple/django/\n"
        "ERROR: No matching distribution found for django==5.2.19"
    ),
    Trouble.REFUSED: (
        "ERROR: Could not find a version that satisfies the requirement django==5.2.19 (from: none)\n"
        "ERROR: No matching distribution found for django==5.2.19"
    ),
    Trouble.CHECKSUM: (
        "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.\n"
        "    django==5.2.19: Expected sha256 aa Got bb"
    ),
    Trouble.DISK_FULL: "ERROR: Could not install packages: OSError: [Errno 28] No space left on device",
    Trouble.CERTIFICATE: "SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] ...'))",
    Trouble.NO_PIP: "/x/.venv/bin/python: No module named pip",
}


@pytest.mark.parametrize("trouble", OUTPUTS)
def test_pip_s_output_tells_the_trouble(trouble: Trouble) -> None:
    assert trouble_in(OUTPUTS[trouble]) is trouble


def test_a_forbidden_answer_is_a_refusal() -> None:
    assert trouble_in("ERROR: HTTP error 403 while getting the wheel") is Trouble.REFUSED


def test_an_unknown_failure_is_not_guessed_at() -> None:
    assert trouble_in("Segmentation fault") is None


@pytest.mark.parametrize(
    ("output", "says", "way_out"),
    [
        (OUTPUTS[Trouble.NO_NETWORK], "cannot be reached", "Run the same command again"),
        (OUTPUTS[Trouble.REFUSED], "does not hand out", "another Python"),
        (OUTPUTS[Trouble.CHECKSUM], "checksum is wrong", str(LOG)),
        (OUTPUTS[Trouble.DISK_FULL], "disk is full", "Make room"),
        (OUTPUTS[Trouble.CERTIFICATE], "certificate is not trusted", "PIP_CERT"),
        (OUTPUTS[Trouble.NO_PIP], "has no pip", "Delete the folder .venv"),
        ("Segmentation fault", "failed", str(LOG)),
    ],
)
def test_a_failed_install_is_a_sentence_with_a_way_out(output: str, says: str, way_out: str) -> None:
    sentence = errors.pip_sentence("the packages", output, LOG)
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
def test_a_failed_venv_is_a_sentence_with_a_way_out(output: str, says: str) -> None:
    assert says in errors.venv_sentence(output, LOG)


@pytest.mark.parametrize(
    ("output", "says"),
    [
        ("fatal error: error writing to /tmp/x.s: No space left on device", "Make room"),
        ("c++: fatal error: Killed signal terminated program cc1plus", "lack of memory"),
        ("CMake Error: No CMAKE_CXX_COMPILER could be found.", "compiler does not work"),
        ("error: expected ';'", str(LOG)),
    ],
)
def test_a_failed_compilation_is_a_sentence_with_a_way_out(output: str, says: str) -> None:
    assert says in errors.compile_sentence(output, LOG)


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
def test_a_failed_decode_is_a_sentence(code: int, output: str, says: str) -> None:
    assert says in errors.proof_sentence(code, output)


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
def test_a_missing_compiler_is_installed_the_system_s_way(
    monkeypatch: pytest.MonkeyPatch, platform: str, program: str, command: str
) -> None:
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}" if name == program else None)
    assert command in errors.compiler_hint()
