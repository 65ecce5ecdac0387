"""The terminal's door: a client of the running server, for one engine serves all of a machine (design §9)."""
