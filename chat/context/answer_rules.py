"""Facts that the reply must obey: how to answer, and what the user does not eat, bear or like.

They stand behind the user's message, because a small model obeys best what it reads last. In 16 cases that
the default model often fails, it obeyed 4 with these facts in the memory block or in the note before the
message, and 9 with the same words in this place. A fact in both places was obeyed less often than here alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar
from uuid import UUID

from chat.memory import rank
from chat.memory.formatting import to_one_line
from chat.memory.language import detect_language

# The first line of the rules, by the language of the message. With an English line behind a German message
# the default model answered in English.
OPENINGS = {
    "ar": "التزم بما يلي في إجابتك:",
    "de": "Bitte halte dich in deiner Antwort daran:",
    "en": "Please keep to this in your answer:",
    "es": "Por favor, respeta esto en tu respuesta:",
    "fr": "Respecte ceci dans ta réponse :",
    "it": "Per favore, rispetta questo nella risposta:",
    "ja": "回答では次のことを守ってください:",
    "ko": "답변할 때 다음을 지켜 주세요:",
    "nl": "Houd je in je antwoord hieraan:",
    "pl": "W odpowiedzi trzymaj się tego:",
    "pt": "Por favor, respeita isto na resposta:",
    "ru": "Соблюдай в ответе следующее:",
    "th": "โปรดทำตามนี้ในคำตอบ:",
    "tr": "Cevabında lütfen şunlara uy:",
    "zh": "回答时请遵守以下几点:",
}
# What stands behind a question about the user whose answer is not in the prompt, by language.
NOT_TOLD = {
    "ar": "(إذا لم يُذكر لك هذا من قبل فقل إنك لا تعرفه.)",
    "de": "(Wenn dir das nie gesagt wurde, sag, dass du es nicht weißt.)",
    "en": "(If you were never told this, say that you do not know it.)",
    "es": "(Si nunca te lo han dicho, di que no lo sabes.)",
    "fr": "(Si on ne te l'a jamais dit, dis que tu ne le sais pas.)",
    "it": "(Se non ti è mai stato detto, di' che non lo sai.)",
    "ja": "(聞いていないことなら、知らないと答えてください。)",
    "ko": "(들은 적이 없다면 모른다고 말해 주세요.)",
    "nl": "(Als dit je nooit is verteld, zeg dan dat je het niet weet.)",
    "pl": "(Jeśli nikt ci tego nie powiedział, powiedz, że nie wiesz.)",
    "pt": "(Se isto nunca te foi dito, diz que não sabes.)",
    "ru": "(Если тебе этого не говорили, скажи, что не знаешь.)",
    "th": "(ถ้าไม่เคยมีใครบอกเรื่องนี้ ให้ตอบว่าไม่รู้)",
    "tr": "(Bu sana hiç söylenmediyse, bilmediğini söyle.)",
    "zh": "(如果没有人告诉过你,就说你不知道。)",
}
_BEHIND = (*OPENINGS.values(), *NOT_TOLD.values())
# The most tokens that wishes about answers take behind each message, with their first line.
RULE_TOKENS = 40
# The length of the longest first line, the Turkish one, with the default model's tokenizer.
_OPENING_TOKENS = 14
# Kinds of facts that are rules only for the messages to which they are relevant.
_CONSTRAINTS = frozenset({"diet", "health", "dislikes"})

F = TypeVar("F", bound=rank.Rankable)


def render_rules(facts: Iterable[rank.Rankable], language: str) -> str:
    """Return the rules behind a message as they stand in its note, "" without any.

    The first line is in this language (a code), in English where there is none. The same facts and language
    give the same bytes.
    """
    lines = [f"- {to_one_line(fact.text)}" for fact in facts]
    return "\n".join([OPENINGS.get(language, OPENINGS["en"]), *lines]) if lines else ""


def detect_first_language(messages: Iterable[str]) -> str:
    """Return the code of the language of the first message where one is detected, "" if none is."""
    return next(filter(None, map(detect_language, messages)), "")


def choose_answer_rules(
    facts: Iterable[F], count_line: Callable[[str], int], room: int = RULE_TOKENS
) -> list[F]:
    """Return the facts about how to answer that fit into every turn; the others stand in the memory block.

    They have at most `room` tokens with the first line. Their order depends neither on the message nor on the
    time, so that no fact changes its place.
    """
    wanted = sorted(
        (fact for fact in facts if fact.kind in rank.ANSWER_KINDS), key=lambda f: (not f.pinned, f.kind, f.id)
    )
    return _select_fitting(wanted, room, count_line)


def choose_constraints(
    facts: Iterable[F], relevance: Mapping[UUID, float], count_line: Callable[[str], int], room: int
) -> list[F]:
    """Return the facts that limit what may be suggested and that have to do with the message.

    The most relevant come first; they have at most `room` tokens with the first line.
    """
    wanted = [f for f in facts if f.kind in _CONSTRAINTS and relevance.get(f.id, 0.0) > 0]
    return _select_fitting(sorted(wanted, key=lambda f: (-relevance[f.id], f.id)), room, count_line)


def _select_fitting(facts: Iterable[F], room: int, count_line: Callable[[str], int]) -> list[F]:
    room -= _OPENING_TOKENS
    chosen = []
    for fact in rank.drop_repeated_texts(facts):
        tokens = count_line(f"- {to_one_line(fact.text)}\n")
        if tokens <= room:
            room -= tokens
            chosen.append(fact)
    return chosen


def frame_message(note: str, text: str) -> str:
    """Return a user's message as the model gets it: its note before it, but the note's rules behind it."""
    parts = [part for part in note.split("\n\n") if part]
    rules = [part for part in parts if part.startswith(_BEHIND)]
    before = [part for part in parts if part not in rules]
    return "\n\n".join([*before, text, *rules])
