"""The admin site: every table, read-only except for settings and users."""

from . import chats, jobs, logins, memory, people, processes  # noqa: F401 - importing them registers the tables
