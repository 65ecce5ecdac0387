"""A page without a model offers those of other programs on this machine, and one press uses one."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from chat.errors import Reason
from chat.llm.registry import registry
from memoryapp.base import provider as stored
from tests import local_programs

from .page_actions import accessibility_violations, last_reply, send_message

pytestmark = pytest.mark.browser


@pytest.fixture
def ollama(monkeypatch, settings, tmp_path, live):
    """A fake Ollama that runs here; no model is used yet."""
    settings.FIND_MODEL_SERVERS = True
    monkeypatch.setenv("DATA_DIR", str(tmp_path / "data"))
    registry.set_failed(Reason("no-engine"))
    for run in local_programs.make_runner(monkeypatch):
        yield run("ollama", **local_programs.ANSWERS["ollama"], reply="Hello from Ollama.")
    registry.set_failed(Reason("verbatim", {"sentence": "The test is over."}))


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_a_found_model_is_used_with_one_press(open_page, ollama, width, dark):
    page = open_page(width=width, dark=dark)
    use = page.get_by_role("button", name="Use qwen3:4b")
    expect(use).to_be_visible()
    expect(page.get_by_text("Leaves this machine")).to_have_count(1)
    assert accessibility_violations(page) == []
    use.click()
    expect(page.locator("#model-name")).to_contain_text("qwen3:4b on 127.0.0.1")
    assert stored.read_choice().program == "ollama"
    send_message(page, "Hi")
    page.wait_for_url("**/c/**")
    expect(last_reply(page)).to_contain_text("Hello from Ollama.")


def test_the_settings_list_them_and_the_page_without_scripts_too(open_page, ollama):
    page = open_page()
    page.goto("/settings/")
    page.get_by_text("Use a model on a server").click()
    expect(page.get_by_role("button", name="Use qwen3:4b")).to_be_visible()
    assert accessibility_violations(page) == []
    page.goto("/settings/provider/found/")
    expect(page.get_by_role("button", name="Use gpt-oss:120b-cloud")).to_be_visible()
    assert accessibility_violations(page) == []
