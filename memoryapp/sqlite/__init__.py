"""A database backend of Django for SQLite in which the threads of a process take turns to write."""
