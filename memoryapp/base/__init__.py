"""Code that both `memoryapp` and `chat` use; it imports neither of them.

All modules except `logs` use the standard library only, since `manage.py start` runs before any package is
installed.
"""
