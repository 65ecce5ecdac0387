"""Another site's page can open a page of ours, and neither embed it nor measure what a search takes."""

from __future__ import annotations

import pytest
from django.test import Client

from chat.actions.messages import send_message

from .isolation import table

pytestmark = pytest.mark.django_db
NAVIGATION = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
PAGES = sorted(
    {f"/{e.address.split('?')[0]}" for e in table.PAGES if not e.names and e.scopes is None}
    # The refusal of a request below /v1/ is JSON, which is longer than the pages' short text.
    - {"/v1/stream-check"}
)


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize(
    "how",
    [
        {"sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"},
        {"sec-fetch-mode": "no-cors", "sec-fetch-dest": "script"},
        {"sec-fetch-mode": "cors", "sec-fetch-dest": "empty"},
        {"sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"},
        {},
    ],
    ids=["image", "script", "fetch", "frame", "unknown"],
)
def test_no_page_answers_an_embedding(owner, site, how):
    for page in PAGES:
        answer = Client().get(page, headers={"sec-fetch-site": site, **how})
        assert (answer.status_code, len(answer.content) < 100) == (403, True), page


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none", "same-origin"])
def test_a_link_opens_a_page(owner, site):
    assert Client().get("/", headers={"sec-fetch-site": site, **NAVIGATION}).status_code == 200


def test_a_browser_without_these_headers_opens_pages(owner):
    assert Client().get("/").status_code == 200


@pytest.mark.parametrize(("site", "finds"), [("cross-site", False), ("same-site", False), ("none", True)])
def test_a_foreign_link_to_a_search_searches_nothing(owner, monkeypatch, site, finds):
    send_message(owner, "My therapist is called Rosalind")
    asked = []

    def find_related(*args):
        asked.append(args)
        return []

    monkeypatch.setattr("chat.views.search.find_related_messages", find_related)
    page = (
        Client().get("/search/?q=Rosalind", headers={"sec-fetch-site": site, **NAVIGATION}).content.decode()
    )
    assert ("<mark>" in page) == finds
    assert bool(asked) == finds
    assert 'value="Rosalind"' in page
