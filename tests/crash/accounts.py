"""The people of a crash test: accounts with a token each."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from .client import CrashClient
from .ledger import Ledger
from .processes import Processes

_CREATE_USERS = """
from pathlib import Path
from chat.actions.api_tokens import create_token
from chat.actions.owners import set_up_owner
from chat.models import User
rows = []
for name in {names!r}:
    user = User.objects.create_user(name)
    set_up_owner(user)
    rows.append(f"{{user.pk}} {{create_token(user, 'crash')}}")
Path({target!r}).write_text(" ".join(rows))
"""


def create_users(processes: Processes, target: Path, names: Sequence[str], seed: int) -> list[CrashClient]:
    """Create accounts by a process of the product, and return a client for each.

    `target` is a file through which the process tells their keys and tokens.
    """
    processes.run("shell", "-v0", "-c", _CREATE_USERS.format(names=list(names), target=str(target)))
    made = target.read_text().split()
    return [
        CrashClient(Ledger(int(key)), token, random.Random(seed + int(key)))
        for key, token in zip(made[::2], made[1::2], strict=True)
    ]
