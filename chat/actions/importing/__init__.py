"""Takes somebody's chats and memories in from a file: what that would do, and doing it (design §9).

A file is read twice: once to check all of it, so that a broken one changes nothing, and once to write. New
chats and facts are written in portions behind a batch that hides them, so that nobody waits long for the
database; one short transaction at the end shows them all, with apps and settings. What an import that was
killed before has hidden is removed. What is here already and only goes on elsewhere follows one by one: chats
before that transaction, facts after it. Killed there, the same file does the rest.

Everything goes by its id, so that the same file twice adds nothing. An id that is another owner's becomes one
that is derived from it. The model is never called: what was imported is not read by memory unless `learn`.
"""

from .after import finish
from .outcome import Options, Outcome, Tally
from .run import carry_out, dry_run
from .staging import remove_abandoned
from .uploads import remove_old

__all__ = ["Options", "Outcome", "Tally", "carry_out", "dry_run", "finish", "remove_abandoned", "remove_old"]
