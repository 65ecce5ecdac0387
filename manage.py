#!/usr/bin/env python3
"""The program's commands. `start` and `test` work on a bare machine; the others run in .venv."""
# This file must be readable by old Pythons, down to 3.6: it is what tells them that they are too old.

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
NEEDED = (3, 11)
# A shell's codes for a program that Ctrl-C ended, and for one whose reader has gone.
STOPPED, UNREAD = 130, 141


def interpreter_of_venv():
    # type: () -> str
    """The path of .venv's Python, whether it exists or not."""
    parts = ("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")
    return os.path.join(HERE, ".venv", *parts)


def main():
    # type: () -> int
    """Hands the command to the bootstrap or to Django, in the right Python."""
    command = sys.argv[1] if len(sys.argv) > 1 else ""
    if sys.version_info < NEEDED:
        found = ".".join(str(part) for part in sys.version_info[:3])
        sys.stderr.write(
            "This program needs Python 3.11 or newer, and this is Python " + found + ". "
            "Install a newer one and name it: python3.11 manage.py " + (command or "start") + "\n"
        )
        return 1
    settle_streams()
    try:
        try:
            return run(command)
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:
        # Ctrl-C is how a person ends these; a traceback would look like a failure.
        return STOPPED
    except Exception as error:
        return failed(error)


def failed(error):
    # type: (Exception) -> int
    """Says what a person can mend, and returns the exit code; what is a bug goes on with its traceback."""
    from memoryapp.troubles import sentence_of

    if isinstance(error, OSError) and not error.filename:
        # It may have been the output. Python would try to write the rest at its end, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if isinstance(error, BrokenPipeError):
        # Whoever read it has enough.
        return UNREAD
    sentence = sentence_of(error)
    if not sentence:
        raise error
    sys.stderr.write(sentence + "\n")
    return 1


def settle_streams():
    # type: () -> None
    """Makes sure that there are three streams, and that no letter is too strange for one of them."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            # Else the next file that is opened gets the number, and what is printed is written into it.
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, mode, closefd=False))
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace" if stream is sys.stderr else "replace")


def run(command):
    # type: (str) -> int
    """Runs a command and returns its exit code."""
    if command in ("", "help", "-h", "--help") and len(sys.argv) < 3:
        from memoryapp.overview import overview

        print(overview())
        return 0
    if command == "help" and sys.argv[2] in ("start", "test", "mcp"):
        # Django knows nothing of these.
        command = sys.argv[2]
        sys.argv[1:] = [command, "--help"]
    if command in ("start", "test"):
        from memoryapp.bootstrap.cli import main as bootstrap

        return bootstrap(command, sys.argv[2:])
    venv = interpreter_of_venv()
    inside = os.path.abspath(sys.prefix) == os.path.dirname(os.path.dirname(venv))
    if os.path.exists(venv) and not inside:
        arguments = [venv, os.path.abspath(__file__)] + sys.argv[1:]
        if os.name == "nt":
            import subprocess

            return subprocess.call(arguments)
        os.execv(venv, arguments)
    return django(command)


def django(command):
    # type: (str) -> int
    """Runs one of Django's commands, or the one that does without Django."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryapp.settings")
    try:
        if command == "mcp":
            # Another program waits for the first answer, and this needs Django later, if at all.
            from chat.mcp.cli import main as mcp
        else:
            from django.core.management import execute_from_command_line
    except ImportError:
        sys.stderr.write("Nothing is installed yet. Run this first: python3 manage.py start\n")
        return 1
    if command == "mcp":
        return mcp(sys.argv[2:])
    execute_from_command_line(sys.argv)
    return 0


if __name__ == "__main__":
    sys.exit(main())
