"""Measures memory over labelled conversations: cases, the product's own pipeline, scores."""

from .cases import CaseError, load
from .pipeline import Pipeline, throwaway_database
from .scoring import Score, judge, summary

__all__ = ["CaseError", "Pipeline", "Score", "judge", "load", "summary", "throwaway_database"]
