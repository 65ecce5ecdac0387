"""Imports chats and memories from a file: a dry run that reports what would happen, and the import itself.

The file is read twice: first to validate all of it, so that an invalid file changes nothing, then to write.
New chats and facts are written in batches, hidden by a staging batch, so that other writers do not wait long;
one short transaction at the end makes them visible, together with apps and settings. What a killed import
left hidden is deleted later. Chats that exist here and continue in the file are extended one by one before
that transaction; facts that changed are updated after it. After a kill in between, importing the same file
again does the rest.

Rows are matched by id, so importing the same file twice adds nothing. An id that belongs to another owner is
replaced by one derived from it. The model is never called: memory extracts from imported chats only with the
option `learn`.
"""

from .fact_writer import finish_import
from .report import ImportOptions, ImportReport, Tally
from .run import dry_run, import_file
from .staging import remove_abandoned_imports
from .uploads import remove_old_uploads

__all__ = [
    "ImportOptions",
    "ImportReport",
    "Tally",
    "dry_run",
    "finish_import",
    "import_file",
    "remove_abandoned_imports",
    "remove_old_uploads",
]
