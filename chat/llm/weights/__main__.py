"""Lets `python -m chat.llm.weights` work before Django can."""

from .cli import main

raise SystemExit(main())
