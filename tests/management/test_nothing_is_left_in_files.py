""" "Delete everything" leaves no word of any kind of data in the files of the data and the cache folder."""

from __future__ import annotations

import pytest

from tests.data_folder import make_data_folder, query_database
from tests.installation import Installation
from tests.waiting import wait_until

WORD = "Quillowax"
_FILL = f"""
from chat.actions.owners import local_owner
from chat.models import ApiToken
from tests.doors.isolation.conftest import make_ids
owner = local_owner()
make_ids(owner, {WORD!r})
# Tokens stay, and so do the names that their owner gave them.
ApiToken.objects.update(name="Script")
"""


@pytest.fixture
def filled(tmp_path):
    """A data folder with one object of each kind, an upload, a former database and a backup."""
    made = Installation(tmp_path / "data")
    make_data_folder(made.folder)
    made.environment["XDG_CACHE_HOME"] = str(tmp_path / "cache")
    made.run("shell", "-v0", "-c", _FILL)
    made.run("backup", str(made.folder / "before-update-20260101-000000.backup"))
    former = made.folder / "memoryapp-before-20260101-000000.sqlite3"
    former.write_bytes(made.database.read_bytes())
    return made


def find_files(made):
    """Return the names of the files with the word, in the data folder and the cache folder."""
    cache = Installation(made.folder.parent / "cache")
    return sorted(path.name for place in (made, cache) for path in place.find_files_with(WORD))


def test_no_file_has_a_word_of_what_was_deleted(filled):
    assert "memoryapp.sqlite3" in find_files(filled)
    assert len(find_files(filled)) >= 2
    with filled.serve() as page:
        page.post("/settings/erase/", word="delete")
        wait_until(lambda: query_database(filled.folder, "SELECT count(*) FROM chat_fact") == [(0,)], 60)
        wait_until(lambda: find_files(filled) == [], 60)
    # A former log or copy must not bring it back.
    with filled.serve() as page:
        page.get("/")
        assert find_files(filled) == []
