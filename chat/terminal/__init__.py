"""The chat in a terminal. It is a client of the running server, since a machine runs one engine."""
