"""The engine as doctor meets it: never tried beside a running one."""

from memoryapp.env import engine_lock_path
from memoryapp.locking import locked_if_free


def engine_runs() -> bool:
    """Whether a server of this data folder holds the engine right now."""
    with locked_if_free(engine_lock_path()) as free:
        return not free
