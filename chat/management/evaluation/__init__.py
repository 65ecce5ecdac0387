"""Measures memory on labelled conversations: cases, the real pipeline, and scores."""

from .cases import CaseError, load_cases
from .pipeline import Pipeline, throwaway_database
from .scores import Score, score_case, summarise_scores

__all__ = [
    "CaseError",
    "Pipeline",
    "Score",
    "load_cases",
    "score_case",
    "summarise_scores",
    "throwaway_database",
]
