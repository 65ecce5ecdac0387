"""Out into a file and in again in a browser: with JavaScript and without, on a phone, for everybody."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

from chat.models import Conversation
from tests.porting.conftest import SAMPLES, wipe
from tests.porting.worlds import build

from .hands import findings

pytestmark = pytest.mark.browser


def choose(page, path):
    page.get_by_label("Import", exact=True).set_input_files(path)
    page.get_by_role("button", name="See what would happen").click()
    page.wait_for_url("**/settings/import/*/")


@pytest.mark.parametrize("scripts", [True, False], ids=["with-scripts", "without"])
def test_what_is_exported_is_imported_again(open_page, owner, scripts, tmp_path):
    build(owner)
    wanted = Conversation.objects.get().title
    # Its world speaks German.
    owner.memory_settings.language = "en"
    owner.memory_settings.save()
    page = open_page("/settings/", java_script_enabled=scripts)
    with page.expect_download() as started:
        page.get_by_role("button", name="As JSON").click()
    path = Path(tmp_path, started.value.suggested_filename)
    started.value.save_as(path)
    assert json.loads(path.read_bytes())["format"] == "memoryapp"
    wipe(owner)
    page.goto("/settings/")
    choose(page, path)
    expect(page.get_by_text("Nothing has been changed yet.")).to_be_visible()
    expect(page.get_by_text("40 new")).to_be_visible()
    assert not Conversation.objects.exists()
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_role("heading", name="Imported")).to_be_visible()
    expect(page.get_by_role("navigation").get_by_text(wanted)).to_be_visible()
    page.get_by_role("link", name="To the chats").click()
    assert Conversation.objects.get().title == wanted


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_serious_and_a_phone_needs_no_scrolling_aside(open_page, owner, dark, tmp_path):
    page = open_page("/settings/", dark=dark, width=390)
    assert findings(page) == [], "settings"
    choose(page, SAMPLES / "mem0.json")
    expect(page.get_by_text("It tells of an assistant, not of you.")).to_be_visible()
    assert findings(page) == [], "dry run"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_role("heading", name="Imported")).to_be_visible()
    assert findings(page) == [], "done"
    broken = tmp_path / "broken.json"
    broken.write_text('[{"mapping": 1}]')
    page.goto("/settings/")
    choose(page, broken)
    expect(page.get_by_role("alert").filter(has_text="[0].mapping: must be an object.")).to_be_visible()
    assert findings(page) == [], "broken"


def test_while_a_file_is_read_and_imported_the_page_says_so(open_page, owner):
    page = open_page("/settings/")
    held = []
    page.route(
        "**/settings/import/**", lambda r: held.append(r) if r.request.method == "POST" else r.fallback()
    )
    page.get_by_label("Import", exact=True).set_input_files(SAMPLES / "mem0.json")
    look = page.get_by_role("button", name="See what would happen")
    look.click()
    expect(page.get_by_text("Reading the file…")).to_be_visible()
    expect(look).to_be_disabled()
    held.pop().continue_()
    expect(page.get_by_role("heading", name="What would happen")).to_be_focused()
    expect(page.get_by_text("Importing…")).to_be_hidden()
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_text("Importing…")).to_be_visible()
    held.pop().continue_()
    expect(page.get_by_role("heading", name="Imported")).to_be_focused()
