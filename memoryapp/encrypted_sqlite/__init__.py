"""A database backend of Django for SQLite databases with encrypted pages."""
