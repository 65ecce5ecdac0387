"""Work beside the jobs is done again and again, and one failure does not end it."""

import threading

from django.db import DatabaseError

from chat.jobs.beside import repeated


def test_it_goes_on_after_a_database_that_is_away_and_ends_with_the_block():
    done, thrice = [], threading.Event()

    def work():
        done.append(threading.current_thread().name)
        if len(done) == 3:
            thrice.set()
        if len(done) == 1:
            raise DatabaseError

    with repeated("beside-test", 0.01, work):
        assert thrice.wait(5)
    assert set(done) == {"beside-test"}
    assert "beside-test" not in {thread.name for thread in threading.enumerate()}
