"""The entity graph in a browser: readable labels, phone and desktop widths, both themes, and questions."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from chat.actions import graph

from .page_actions import accessibility_violations, each_width, fact_card, open_panel

pytestmark = pytest.mark.browser

LIFE = [
    ("home", "User lives in Bergen"),
    ("origin", "User comes from Ghana"),
    ("employer", "User works at Nordic Wind as a turbine engineer"),
    ("family", "User's sister Amara lives in Accra"),
    ("pet", "User has a parrot called Coco"),
    ("building", "User is building a recipe app called Fork written in Rust"),
    ("likes", "User likes Rust, jazz and long train rides through northern countries"),
]
MANY = [
    *LIFE,
    *(
        ("likes", f"User likes {name}")
        for name in ["chess", "tea", "rain", "hiking", "sushi", "Go", "Vim", "Paris", "techno", "soup"]
    ),
    *(("tools", f"User uses Instrument{i} Professional Edition") for i in range(14)),
    *(("family", f"User has a cousin called Maximiliana{i}") for i in range(12)),
    *(("home", f"User lives in Llanfairpwllgwyngyll{i}") for i in range(11)),
]
SIZES = [[], LIFE[:1], LIFE, MANY]


@pytest.fixture
def make_graph_facts(make_fact):
    """Return a function that makes facts and adds them to the graph."""

    def make(facts):
        for kind, text in facts:
            graph.sync_fact(make_fact(text, kind=kind))

    return make


def overlapping_labels(page):
    """Return the names that overflow their box, and the pairs of texts that overlap."""
    return page.locator(".graph-drawing:visible").evaluate(
        """svg => {
            const of = e => e.getBoundingClientRect();
            const out = [...svg.querySelectorAll('.entity')].filter(g => {
                const box = of(g.querySelector('rect'));
                return [...g.querySelectorAll('text')].some(t => of(t).right > box.right - 2);
            }).map(g => g.textContent);
            const texts = [...svg.querySelectorAll('text')];
            const over = texts.flatMap((a, i) => texts.slice(i + 1).filter(b => {
                const [p, q] = [of(a), of(b)];
                const beside = p.right - 1 <= q.left || q.right - 1 <= p.left;
                return !beside && p.top < q.bottom - 3 && q.top < p.bottom - 3;
            }).map(b => a.textContent + ' / ' + b.textContent));
            return [...out, ...over];
        }"""
    )


@pytest.mark.parametrize("facts", SIZES, ids=len)
def test_no_label_overlaps_another_and_nothing_overflows(open_page, make_graph_facts, facts):
    make_graph_facts(facts)
    page = open_page("/memory/graph/")
    for width in each_width(page):
        expect(page.locator(".graph-drawing:visible")).to_have_count(1)
        assert overlapping_labels(page) == [], width
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator(".graph").evaluate("e => e.scrollWidth <= e.clientWidth")


def test_axe_finds_no_serious_violation_with_and_without_an_answer(open_page, make_graph_facts):
    make_graph_facts(LIFE)
    page = open_page("/memory/graph/")
    for width in each_width(page):
        assert accessibility_violations(page) == [], f"page, {width} px"
    page.goto("/memory/graph/?q=What+do+I+like")
    for width in each_width(page):
        assert accessibility_violations(page) == [], f"answer, {width} px"


def test_an_empty_graph_shows_an_explanation(open_page):
    page = open_page("/memory/graph/")
    expect(page.get_by_text("Nothing to draw yet.")).to_be_visible()
    assert accessibility_violations(page) == []


def test_a_question_is_answered_in_place_with_a_link_to_the_card(open_page, make_graph_facts):
    make_graph_facts(LIFE)
    page = open_page("/memory/graph/")
    box = page.get_by_role("searchbox", name="Ask about what is remembered")
    box.fill("Who is Coco?")
    box.press("Enter")
    answer = page.get_by_role("status").filter(has_text="You have a pet: Coco.")
    expect(answer).to_be_visible()
    expect(page).to_have_url(re.compile(r"/memory/graph/$"))
    answer.get_by_role("link", name="Has a parrot called Coco").click()
    expect(page).to_have_url(re.compile(r"/memory/#fact-"))
    expect(fact_card(page, "parrot")).to_be_visible()


def test_without_javascript_a_question_is_answered(open_page, make_graph_facts):
    make_graph_facts(LIFE)
    page = open_page("/memory/graph/", java_script_enabled=False)
    page.get_by_role("searchbox", name="Ask about what is remembered").fill("Where do I live?")
    page.get_by_role("button", name="Ask").click()
    expect(page.get_by_text("You live in Bergen.", exact=True)).to_be_visible()


def test_the_panel_links_to_the_graph_and_the_drawing_has_a_description(open_page, make_graph_facts):
    make_graph_facts(LIFE)
    page = open_page()
    open_panel(page).get_by_role("link", name="Connections").click()
    # Wait for the styles: without them both drawings show, the wide one and the narrow one.
    page.wait_for_url("**/memory/graph/")
    picture = page.get_by_role("img", name=re.compile("You and the things in your memories"))
    expect(picture).to_be_visible()
    expect(picture.locator("desc")).to_contain_text("Bergen")
