"""`manage.py evaluate`: measures memory on labelled conversations with the real model."""

from __future__ import annotations

import json
import os
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from chat.actions import provider
from chat.llm.registry import registry
from chat.llm.weights.progress import format_duration
from chat.management import evaluation
from chat.management.engine_lock import lock_engine
from chat.management.evaluation.cases import KINDS, Case
from chat.management.evaluation.scores import Score
from chat.text import format_as_one_line, strip_terminal_controls
from memoryapp.base.env import cache_dir

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
        parser.add_argument(
            "--model",
            metavar="NAME",
            help="a model of the catalogue, or of the server",
        )
        parser.add_argument(
            "--provider", metavar="URL", help="a model server instead of this machine (its key: PROVIDER_KEY)"
        )
        parser.add_argument("--limit", metavar="N", type=int, help="run only the first N cases")
        parser.add_argument(
            "--samples", metavar="N", type=int, default=3, help="replies a case, for the kind “replies” (3)"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            cases = evaluation.load_cases(options["kind"], options["file"])
        except evaluation.CaseError as problem:
            raise CommandError(strip_terminal_controls(str(problem))) from problem
        if options["limit"] is not None and options["limit"] < 1:
            raise CommandError("--limit takes a number from 1.")
        if options["samples"] < 1:
            raise CommandError("--samples takes a number from 1.")
        cases = cases[: options["limit"]]
        _choose_model(options["model"], options["provider"])
        lock = lock_engine(settings.DATA_DIR, "evaluate")
        try:
            _load_model(local=bool(options["model"]) and not options["provider"])
            with evaluation.throwaway_database():
                scores = self._run(cases, options["samples"], quiet=options["json"])
        finally:
            registry.close()
            lock.close()
        summary = evaluation.summarise_scores(options["kind"], scores)
        if options["json"]:
            listed = [{"id": s.id, "correct": s.correct, **s.details} for s in scores]
            self.stdout.write(json.dumps({"cases": listed, "summary": summary}, ensure_ascii=False))
        else:
            self.stdout.write("  ".join(f"{name} {value}" for name, value in summary.items()))

    def _run(self, cases: list[Case], samples: int, *, quiet: bool) -> list[Score]:
        pipeline = evaluation.Pipeline(registry, samples)
        scores: list[Score] = []
        began = time.monotonic()
        for case in cases:
            if scores:
                self.stderr.write(_describe_progress(len(scores), len(cases), time.monotonic() - began))
            score = evaluation.score_case(case, pipeline.run(case))
            scores.append(score)
            if not quiet:
                self.stdout.write(
                    ("ok   " if score.correct else "FAIL ")
                    + format_as_one_line(f"{score.id}  {_format_score(score)}")
                )
                self.stdout.flush()
        return scores


def _choose_model(model: str | None, url: str | None) -> None:
    """Choose the model by the environment variables of the start, which have precedence over the settings."""
    if url:
        os.environ |= {"PROVIDER_URL": url, "PROVIDER_MODEL": model or ""}
    elif model:
        os.environ["MODEL"] = model


def _describe_progress(done: int, count: int, seconds: float) -> str:
    """Return how many cases are done, and how long the others will take if they take as long on average."""
    left = seconds / done * (count - done)
    return f"{done} of {count}, about {format_duration(left)} left"


def _load_model(*, local: bool) -> None:
    if local:
        registry.load(window=settings.WINDOW, fixed_prompts_folder=cache_dir() / "prompts")
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
    if "replies" in score.details:
        pairs = zip(score.details["replies"], score.details["faults"], strict=True)
        parts += [f"“{reply}” {', '.join(faults) or 'right'}" for reply, faults in pairs]
    if score.details.get("too_many"):
        parts.append("too many")
    if "prompt" in score.details:
        parts.insert(0, " / ".join(score.details["prompt"].split("\n")))
    if score.seconds:
        parts.append(f"{sum(score.seconds):.1f} s")
    return " | ".join(parts)
