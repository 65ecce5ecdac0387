"""Copies a whole database into another one of any kind, for moves and for backups of PostgreSQL."""
