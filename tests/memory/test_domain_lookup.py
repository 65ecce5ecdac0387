"""The domains of a text are found by its words, in time that grows with its length only."""

import time

from chat.memory.domains import clear_domain_caches, detect_domains


def test_a_word_of_a_million_letters_takes_no_time():
    began = time.process_time()
    assert detect_domains("x" * 1_000_000) == frozenset()
    # Looking up every beginning and end of the word took half a minute.
    assert time.process_time() - began < 3
    clear_domain_caches()


def test_words_are_found_by_their_beginning_and_their_end():
    assert "health" in detect_domains("I have diabetes")
    assert "health" in detect_domains("Ich habe Kopfschmerzen")
