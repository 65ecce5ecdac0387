"""What `start` and `test` do on a bare machine, before any package is there. Standard library only.

Every step is done once and marked in .venv with what it depended on. Whoever is interrupted runs the same
command again, and it goes on where it stopped.
"""
