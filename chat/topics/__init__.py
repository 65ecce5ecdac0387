"""Topics of a conversation: which one a message belongs to, which fade, and cold storage (design §7)."""
