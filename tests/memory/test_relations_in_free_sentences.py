"""The rules find relations in sentences that were written without knowing the rules, in seven languages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from chat.memory.graph import extract_relations

CASES = Path(__file__).parent / "data" / "relations.jsonl"
# Measured when the file was new: precision 0.71 and recall 0.39 before the relations `admires`,
# `struggles_with`, `has_good` and `designed_for` existed; with them 0.71 and 0.48. The default model reads
# the same sentences with 0.61 and 0.61 (one call of about 25 tokens each).
LEAST_PRECISION, LEAST_RECALL = 0.68, 0.45

Triple = tuple[str, str, str]


def clean(relation: list[str] | Triple) -> Triple:
    source, name, target = relation[:3]
    return source.casefold(), name, target.casefold()


def find_triples(case: dict[str, Any]) -> set[Triple]:
    found = extract_relations(case["kind"], case["text"], case["language"])
    return {clean((r.source.name if r.source else "", r.relation, r.target.name)) for r in found}


def is_met(wanted: Triple, found: set[Triple], allowed: set[Triple]) -> bool:
    """Return whether the relation, or an allowed one with a longer or shorter name, was found."""
    return wanted in found or any(
        triple[0] == wanted[0] and (triple[2] in wanted[2] or wanted[2] in triple[2])
        for triple in found & allowed
    )


def test_precision_and_recall_stay_as_measured():
    met = missed = extra = 0
    for line in CASES.read_text("utf-8").splitlines():
        case = json.loads(line)
        found = find_triples(case)
        wanted, allowed = {clean(r) for r in case["relations"]}, {clean(r) for r in case["allow"]}
        hits = sum(is_met(triple, found, allowed) for triple in wanted)
        met, missed = met + hits, missed + len(wanted) - hits
        extra += len(found - wanted - allowed)
    precision, recall = met / (met + extra), met / (met + missed)
    assert precision >= LEAST_PRECISION, precision
    assert recall >= LEAST_RECALL, recall
