"""What `manage.py` can do, for whoever asks it without a command; the standard library only."""

COMMANDS = (
    ("start", "set everything up and serve the chat"),
    ("test", "set up what the tests need and run them"),
    ("chat", "chat in this terminal"),
    ("mcp", "give another assistant the memories, as tools"),
    ("doctor", "look at the installation: what is well, and what to do"),
    ("weights", "list, fetch and verify the weights of models"),
    ("export_memory", "write chats and memories into a file"),
    ("import_memory", "read such a file, or one of another program"),
    ("backup", "write the database and its key into one file"),
    ("restore", "put a backup in the place of what is here"),
    ("decay", "let unused memories fade now, as every night does"),
    ("prune", "delete chats that nobody wrote in for long"),
    ("run_jobs", "do background work without the server"),
    ("evaluate", "measure memory on labelled conversations"),
    ("serve", "serve the chat where everything is set up"),
)


def overview() -> str:
    """Return the commands with what each does, as lines."""
    rows = "\n".join(f"  {name:<14} {does}" for name, does in COMMANDS)
    return (
        f"python3 manage.py <command>\n\n{rows}\n\n"
        "`manage.py <command> --help` tells more of one, `manage.py help --commands` names Django's too."
    )
