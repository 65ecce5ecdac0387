#!/usr/bin/env python3
"""The program's commands. `start` and `test` work on a bare machine; the others run in .venv."""
# This file must be readable by old Pythons, down to 3.6: it is what tells them that they are too old.

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
NEEDED = (3, 11)


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
    try:
        if command == "mcp":
            return mcp(sys.argv[2:])
        execute_from_command_line(sys.argv)
    except KeyboardInterrupt:
        # Ctrl-C is how a person ends these; a traceback would look like a failure.
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
