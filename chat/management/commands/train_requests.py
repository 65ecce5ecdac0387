"""Trains the classifier of requests to memory for the installed embedder, and writes its weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from django.core.management.base import BaseCommand, CommandError

from chat.llm.registry import registry
from chat.memory import request_classifier, request_training
from chat.memory.request_features import Suspect, find_suspect

_SENTENCES = request_classifier.WEIGHTS.parent / "training" / "request_sentences.tsv"
_PENALTIES = (0.0005, 0.001, 0.002)


class Command(BaseCommand):
    """Reads `memory/training/request_sentences.tsv` and writes `memory/request_weights/<embedder>.npz`."""

    help = "Train the classifier of requests to memory for the installed embedder (for developers)."

    def handle(self, *args: Any, **options: Any) -> None:
        """Choose penalty and threshold by cross-validation, train with all sentences, write the weights."""
        registry._load_embedder()
        embedder = registry.embedder()
        if embedder is None:
            raise CommandError("The weights of the embedder are not installed.")
        suspects, labels = load_sentences()
        inputs = request_classifier.build_inputs(suspects, embedder)
        results = []
        for penalty in _PENALTIES:
            found = request_training.cross_validate(inputs, labels, penalty)
            threshold, share = request_training.choose_threshold(found, labels)
            self.stdout.write(f"penalty {penalty}: {share:.3f} right with threshold {threshold}")
            results.append((share, penalty, threshold))
        _, penalty, threshold = max(results)
        matrix = request_training.fit(inputs, labels, penalty)
        request_classifier.WEIGHTS.mkdir(exist_ok=True)
        path = request_classifier.WEIGHTS / f"{embedder.name}.npz"
        np.savez_compressed(path, matrix=matrix.astype(np.float16), threshold=np.float32(threshold))
        self.stdout.write(f"wrote {path.name}")


def load_sentences() -> tuple[list[Suspect], Any]:
    """Return the training sentences that are suspects, and their kinds as indices of KINDS."""
    suspects, labels = [], []
    for line in _SENTENCES.read_text(encoding="utf-8").splitlines():
        kind, _, sentence = line.partition("\t")
        if (suspect := find_suspect(sentence)) is not None:
            suspects.append(suspect)
            labels.append(request_classifier.KINDS.index(kind))
    return suspects, np.array(labels)
