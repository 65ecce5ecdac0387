#!/usr/bin/env python3
"""The program's commands. `start`, `prepare` and `test` run on a bare machine; the others run in .venv."""
# This file must parse with Python 3.6, so that it can say which version is needed.

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
NEEDED = (3, 11)
# Commands that need no keys of encrypted data, or get them themselves.
NO_DATA = ("help", "encrypt", "decrypt", "weights", "collectstatic", "makemessages", "compilemessages", "mcp")
# Commands that run on a bare machine.
BOOTSTRAP = ("start", "prepare", "test")
# A shell's exit codes for a program that Ctrl-C or a closed pipe ended.
STOPPED, UNREAD = 130, 141


def interpreter_of_venv():
    # type: () -> str
    """Return the path of .venv's Python, whether it exists or not."""
    parts = ("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")
    return os.path.join(HERE, ".venv", *parts)


def main():
    # type: () -> int
    """Run the command in the right Python; return the exit code."""
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
        take_passphrase_fd()
        try:
            return run(command)
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:
        # Ctrl-C is the usual way to end these commands, so it prints no traceback.
        return STOPPED
    except Exception as error:
        return handle_error(error)


def take_passphrase_fd():
    # type: () -> None
    """Move `--passphrase-fd N`, which every command takes, from the arguments to the environment."""
    name = "--passphrase-fd"
    for place, argument in enumerate(sys.argv):
        if argument == name or argument.startswith(name + "="):
            number = argument.partition("=")[2] or "".join(sys.argv[place + 1 : place + 2])
            del sys.argv[place : place + (1 if "=" in argument else 2)]
            os.environ["PASSPHRASE_FD"] = number or "none"
            return


def handle_error(error):
    # type: (Exception) -> int
    """Print the sentence for an error that a user can fix and return the exit code; raise any other error."""
    from memoryapp.base.error_text import explain_error

    if isinstance(error, OSError) and not error.filename:
        # The error may be on standard output. Python flushes it again at its end, which would print another
        # error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if isinstance(error, BrokenPipeError):
        # The reader closed the pipe.
        return UNREAD
    sentence = explain_error(error)
    if not sentence:
        raise error
    sys.stderr.write(sentence + "\n")
    return 1


def settle_streams():
    # type: () -> None
    """Open missing standard streams, and replace characters that a stream cannot encode."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            # Otherwise the next opened file would get this number, and printed text would be written into it.
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, mode, closefd=False))
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace" if stream is sys.stderr else "replace")


def run(command):
    # type: (str) -> int
    """Run a command; return its exit code."""
    if command in ("", "help", "-h", "--help") and len(sys.argv) < 3:
        from memoryapp.bootstrap.cli import describe_commands

        print(describe_commands())
        return 0
    if command == "help" and sys.argv[2] in BOOTSTRAP + ("mcp",):
        # Django does not know these commands.
        command = sys.argv[2]
        sys.argv[1:] = [command, "--help"]
    if command in BOOTSTRAP:
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
    """Run one of Django's commands, or `mcp`, which starts without Django."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryapp.settings")
    try:
        if command == "mcp":
            # Started without Django: an assistant waits for the first response, and Django is needed later,
            # if at all.
            from chat.mcp.cli import main as mcp
        else:
            from django.core.management import execute_from_command_line
    except ImportError:
        sys.stderr.write("Nothing is installed yet. Run this first: python3 manage.py start\n")
        return 1
    if command == "mcp":
        return mcp(sys.argv[2:])
    if command == "move" and not install_psycopg():
        return 1
    if command not in NO_DATA:
        open_encrypted_data()
    execute_from_command_line(sys.argv)
    return 0


def install_psycopg():
    # type: () -> bool
    """Where the data moves to PostgreSQL, install what that needs; return whether it is there."""
    from importlib.util import find_spec

    if find_spec("psycopg") or not any("postgres" in argument for argument in sys.argv[2:]):
        return True
    from memoryapp.bootstrap.cli import main as bootstrap

    return bootstrap("postgres", []) == 0


def open_encrypted_data():
    # type: () -> None
    """Where the data is encrypted, get the keys before anything else happens."""
    from memoryapp.base.env import data_path
    from memoryapp.base.passphrase import is_encrypted

    if is_encrypted(data_path()) and not {"-h", "--help", "--version"}.intersection(sys.argv):
        from memoryapp.base.encryption import process_keys

        process_keys()


if __name__ == "__main__":
    sys.exit(main())
