"""The own JavaScript and the own CSS of the pages stay below 65,000 bytes each, uncompressed."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.conf import settings

LIMIT = 65_000


@pytest.mark.parametrize("kind", ["js", "css"])
def test_own_files_stay_below_the_limit(kind):
    sizes = {
        path.name: path.stat().st_size for path in Path(settings.BASE_DIR, "static", kind).rglob(f"*.{kind}")
    }
    assert len(sizes) > 3
    assert sum(sizes.values()) < LIMIT, sorted(sizes.items(), key=lambda item: -item[1])


def test_templates_contain_no_inline_script_or_style():
    pages = "".join(path.read_text() for path in Path(settings.BASE_DIR, "templates").rglob("*.html"))
    assert "<style" not in pages
    assert " style=" not in pages
    assert "<script>" not in pages
    assert " onclick=" not in pages
