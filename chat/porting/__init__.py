"""Reads files that hold somebody's chats and memories, ours and others', into one set of shapes."""
