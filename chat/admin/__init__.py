"""The admin site: every table, for inspection. What must stay as it happened cannot be changed here."""

from . import apps, chats, jobs, machine, memory, people  # noqa: F401 - importing them registers the tables
