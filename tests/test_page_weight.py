"""All scripts of our own, and all styles, stay below 40,000 bytes each, before compression."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.conf import settings

LIMIT = 40_000


@pytest.mark.parametrize("kind", ["js", "css"])
def test_our_own_files_are_light(kind):
    sizes = {
        path.name: path.stat().st_size for path in Path(settings.BASE_DIR, "static", kind).rglob(f"*.{kind}")
    }
    assert len(sizes) > 3
    assert sum(sizes.values()) < LIMIT, sorted(sizes.items(), key=lambda item: -item[1])


def test_pages_hold_no_script_and_no_style_of_their_own():
    pages = "".join(path.read_text() for path in Path(settings.BASE_DIR, "templates").rglob("*.html"))
    assert "<style" not in pages
    assert " style=" not in pages
    assert "<script>" not in pages
    assert " onclick=" not in pages
