"""Statistics of memory and the model for one owner. Read-only."""
