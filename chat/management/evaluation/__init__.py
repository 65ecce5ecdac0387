"""Measures memory on labelled conversations: cases, the real pipeline, and scores."""

from .cases import CaseError, Score, load_cases, score_case, summarise_scores
from .pipeline import Pipeline, throwaway_database

__all__ = [
    "CaseError",
    "Pipeline",
    "Score",
    "load_cases",
    "score_case",
    "summarise_scores",
    "throwaway_database",
]
