"""run_periodically repeats its work in a thread; a failure does not end the thread."""

import threading

from django.db import DatabaseError

from chat.jobs.periodic import run_periodically


def test_the_thread_survives_a_database_error_and_ends_with_the_block():
    done, thrice = [], threading.Event()

    def work():
        done.append(threading.current_thread().name)
        if len(done) == 3:
            thrice.set()
        if len(done) == 1:
            raise DatabaseError

    with run_periodically("beside-test", 0.01, work):
        assert thrice.wait(5)
    assert set(done) == {"beside-test"}
    assert "beside-test" not in {thread.name for thread in threading.enumerate()}
