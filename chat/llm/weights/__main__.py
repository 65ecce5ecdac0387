"""Runs `python -m chat.llm.weights`, which works before Django is installed."""

from .cli import main

raise SystemExit(main())
