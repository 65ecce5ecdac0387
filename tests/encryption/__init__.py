"""Data that is encrypted with a passphrase: its files, its server, its backups."""
