"""`manage.py evaluate`: measures memory on labelled conversations with the real model."""

from __future__ import annotations

import json
import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from chat.actions import provider
from chat.llm.registry import registry
from chat.management import evaluation
from chat.management.engine_lock import lock_engine
from chat.management.evaluation.cases import KINDS, Case
from chat.management.evaluation.scoring import Score
from chat.text import format_as_one_line, strip_terminal_controls

_LOADING_SECONDS = 600.0
_FAULTS = ("missed", "extra", "traps", "wrong_category", "missing", "not_lost", "unwanted", "errors")


class Command(BaseCommand):
    """Run a file of cases and print the scores."""

    help = (
        "Run labelled conversations through the real pipeline, in a database that is thrown away, and print "
        "what was known afterwards: a case a line, and in sum."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("kind", choices=KINDS)
        parser.add_argument("file", type=Path, help="JSON Lines, one case a line")
        parser.add_argument("--model", metavar="NAME", help="a model of the catalogue instead of the default")
        parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            cases = evaluation.load_cases(options["kind"], options["file"])
        except evaluation.CaseError as problem:
            raise CommandError(strip_terminal_controls(str(problem))) from problem
        if options["model"]:
            os.environ["MODEL"] = options["model"]
        lock = lock_engine(settings.DATA_DIR, "evaluate")
        try:
            _load_model(local=bool(options["model"]))
            with evaluation.throwaway_database():
                scores = self._run(cases, quiet=options["json"])
        finally:
            registry.close()
            lock.close()
        summary = evaluation.summarise_scores(options["kind"], scores)
        if options["json"]:
            listed = [{"id": s.id, "correct": s.correct, **s.details} for s in scores]
            self.stdout.write(json.dumps({"cases": listed, "summary": summary}, ensure_ascii=False))
        else:
            self.stdout.write("  ".join(f"{name} {value}" for name, value in summary.items()))

    def _run(self, cases: list[Case], *, quiet: bool) -> list[Score]:
        pipeline = evaluation.Pipeline(registry)
        scores = []
        for case in cases:
            score = evaluation.score_case(case, pipeline.run(case))
            scores.append(score)
            if not quiet:
                self.stdout.write(
                    ("ok   " if score.correct else "FAIL ")
                    + format_as_one_line(f"{score.id}  {_format_score(score)}")
                )
                self.stdout.flush()
        return scores


def _load_model(*, local: bool) -> None:
    if local:
        registry.load(window=settings.WINDOW)
    else:
        provider.load_chosen_model()
    if not registry.wait_ready(_LOADING_SECONDS):
        status = registry.status()
        mend = f" Mend it with `{status.command}`." if status.command else ""
        raise CommandError(status.sentence + mend)


def _format_score(score: Score) -> str:
    """Return the score of a case as one line."""
    known = "; ".join(
        f"{f['text']} [{f['kind']}, {f['mention_count']}×]" for f in score.details.get("facts", [])
    )
    parts = [known] if known else []
    parts += [f"{name} {found}" for name in _FAULTS if (found := score.details.get(name))]
    if score.details.get("too_many"):
        parts.append("too many")
    if "prompt" in score.details:
        parts.insert(0, " / ".join(score.details["prompt"].split("\n")))
    if score.seconds:
        parts.append(f"{sum(score.seconds):.1f} s")
    return " | ".join(parts)
