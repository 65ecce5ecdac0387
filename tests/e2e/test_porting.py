"""Export and import in a browser: with and without JavaScript, and on a phone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

from chat.models import Conversation
from tests.porting.conftest import SAMPLES, wipe
from tests.porting.sample_data import create_sample_data

from .page_actions import accessibility_violations

pytestmark = pytest.mark.browser


def upload_file(page, path):
    page.get_by_label("Import", exact=True).set_input_files(path)
    page.get_by_role("button", name="See what would happen").click()
    page.wait_for_url("**/settings/import/*/")


@pytest.mark.parametrize("scripts", [True, False], ids=["with-scripts", "without"])
def test_an_exported_file_can_be_imported_again(open_page, owner, scripts, tmp_path):
    create_sample_data(owner)
    wanted = Conversation.objects.get().title
    # The sample data sets the language to German.
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
    upload_file(page, path)
    expect(page.get_by_text("Nothing has been changed yet.")).to_be_visible()
    expect(page.get_by_text("40 new")).to_be_visible()
    assert not Conversation.objects.exists()
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_role("heading", name="Imported")).to_be_visible()
    expect(page.get_by_role("navigation").get_by_text(wanted)).to_be_visible()
    page.get_by_role("link", name="To the chats").click()
    assert Conversation.objects.get().title == wanted


def test_axe_finds_no_serious_violation_and_a_phone_does_not_scroll_sideways(open_page, owner, tmp_path):
    page = open_page("/settings/", width=390)
    assert accessibility_violations(page) == [], "settings"
    upload_file(page, SAMPLES / "mem0.json")
    expect(page.get_by_text("It tells of an assistant, not of you.")).to_be_visible()
    assert accessibility_violations(page) == [], "dry run"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_role("heading", name="Imported")).to_be_visible()
    assert accessibility_violations(page) == [], "done"
    broken = tmp_path / "broken.json"
    broken.write_text('[{"mapping": 1}]')
    page.goto("/settings/")
    upload_file(page, broken)
    expect(page.get_by_role("alert").filter(has_text="[0].mapping: must be an object.")).to_be_visible()
    assert accessibility_violations(page) == [], "broken"


def test_the_page_shows_that_a_file_is_being_read_and_imported(open_page, owner):
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
