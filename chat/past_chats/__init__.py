"""Past conversations: which of their sentences a message needs, and how a prompt quotes them.

Writes nothing.
"""
