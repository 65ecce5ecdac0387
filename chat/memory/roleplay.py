"""Detects role-play: while it is active, no sentence states a fact about the user."""

from __future__ import annotations

import re
from collections.abc import Sequence


def _compile_any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.I)


# Both sides play a role, so the user's next messages are role-play too: "let's pretend …", "you're my captain
# and I'm …", "tu so, als …".
_BOTH_PLAY = (
    r"\brole[- ]?play|\bin character\b|\b(?:let'?s|let us) (?:play|pretend)\b",
    r"\byou(?:'re| are|'ll be| will be| be) (?:now )?(?:a|an|the|my) (?:[\w'-]+ ){1,6}(?:and|,) ?"
    r"i(?:'m| am|'ll be| will be| be)\b",
    r"\bi(?:'ll| will) (?:be|play) (?:a|an|the|your) \w+",
    r"\b(?:rollenspiel|spielen wir|tu so, als|jeu de rôle|faisons comme si|juego de rol|juguemos|"
    r"haz de cuenta|gioco di ruolo|facciamo finta|faz de conta|vamos fingir)\b|角色扮演|假装我",
    r"\bdu bist (?:der|die|das|ein|eine|mein|meine) (?:\w+ ){1,4}und ich bin\b",
    r"\btu es (?:le|la|un|une|mon|ma) (?:[\w']+ ){1,4}et je suis\b",
    r"\beres (?:el|la|un|una|mi) (?:\w+ ){1,4}y (?:yo )?soy\b",
    r"\bsei (?:il|la|un|una|mio|mia) (?:\w+ ){1,4}e io sono\b",
    r"\bvocê é (?:o|a|um|uma|meu|minha) (?:\w+ ){1,4}e eu sou\b",
    r"你(?:是|扮演|当)[^，。]{1,10}[，,]?我(?:是|扮演|当)",
)
# Only the assistant plays a role ("act as …", "you are a pirate"): applies to this message only.
_ASSISTANT_PLAYS = (
    r"\b(?:let'?s|let us) imagine\b|\bpretend (?:to be|that|you|i|we)\b|(?<!\bi )(?<!\bwe )\bact as\b|"
    r"\bplay the (?:role|part)\b",
    r"\byou(?:'re| are)(?: now)? (?:a|an|the|my) (?:pirate|king|queen|knight|captain|wizard|detective|"
    r"doctor|lawyer|teacher|recruiter|interviewer|customer|character|dungeon|game|ai)\b",
    r"\b(?:joue le rôle|finge que|fingi di|finja que)\b|假装|扮演",
)
_STARTS_FOR_BOTH = _compile_any(*_BOTH_PLAY)
_STARTS = _compile_any(*_BOTH_PLAY, *_ASSISTANT_PLAYS)
# "End of scene", "back to reality", "jetzt im Ernst", "in real life".
_ENDS = _compile_any(
    r"\b(?:end of (?:the )?(?:game|play|scene|story|role)|game over|stop (?:the )?(?:game|playing|role)|"
    r"out of character|ooc|back to (?:reality|real life|normal|business)|in real life|for real(?: now)?|"
    r"seriously(?: now| though)|a real question|enough (?:of that|play\w*|games|role[- ]?play\w*)|"
    r"let'?s stop|no more (?:games|role)|"
    r"jok(?:es|ing) aside|scene over|that was fun)\b",
    r"\b(?:spielende|spiel (?:vorbei|aus)|ende des (?:rollen)?spiels|im echten leben|zurück zur realität|"
    r"(?:mal|jetzt) im ernst|genug gespielt)\b",
    r"\b(?:fin du jeu|dans la vraie vie|on arrête (?:le jeu|de jouer)|retour à la réalité|sérieusement)\b",
    r"\b(?:fin del juego|en la vida real|dejemos (?:el juego|de jugar)|volviendo a la realidad|"
    r"ahora en serio)\b",
    r"\b(?:fine del gioco|nella vita reale|basta giocare|torniamo alla realtà|ora sul serio)\b",
    r"\b(?:fim do jogo|na vida real|chega de brincar|voltando à realidade|falando sério)\b",
    r"游戏结束|现实(?:中|生活|里)|不玩了|说真的|言归正传",
)


def starts_roleplay(masked: str) -> bool:
    """Return whether a masked message starts a role-play, of both sides or of the assistant alone."""
    return bool(_STARTS.search(masked))


def ends_roleplay(sentence: str) -> bool:
    """Return whether the sentence ends a role-play."""
    return bool(_ENDS.search(sentence))


def is_roleplay_active(earlier: Sequence[str]) -> bool:
    """Return whether a role-play is active after the user's `earlier` messages, which come oldest first."""
    playing = False
    for message in earlier:
        if ends_roleplay(message):
            playing = False
        elif _STARTS_FOR_BOTH.search(message):
            playing = True
    return playing
