"""Redacts passwords, tokens, keys and card numbers, so that they are never stored in memory."""

from __future__ import annotations

import math
import re
from collections import Counter

REDACTED = "[redacted]"

# A PEM block ("-----BEGIN … KEY-----"); an unclosed one extends to the end.
_PEM = re.compile(r"-----BEGIN [A-Z ]+-----.*?(?:-----END [A-Z ]+-----|\Z)", re.S)
# Keys with the prefix of a known service: "sk-…", "ghp_…", "AKIA…", and JSON web tokens ("eyJ….….…").
_PREFIXED = re.compile(
    r"\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{8,}"
    r"|\bgh[pousr]_[A-Za-z0-9]{16,}|\bgithub_pat_\w{16,}|\bglpat-[\w-]{16,}"
    r"|\bxox[abprs]-[\w-]{8,}|\b(?:AKIA|ASIA)[A-Z0-9]{12,}|\bAIza[\w-]{20,}|\bya29\.[\w.-]{10,}"
    r"|\bhf_[A-Za-z0-9]{16,}|\bpypi-[\w-]{16,}|\bnpm_[A-Za-z0-9]{16,}"
    r"|\beyJ[\w-]{8,1000}\.[\w-]{8,}(?:\.[\w-]*)?"
)
_BEARER = re.compile(r"(\bbearer\s+)[\w.~+/=-]{12,}", re.I)
# Words for secrets: "password", "PIN", "API key", "Kennwort", "密码".
_NAMING_WORD = (
    r"pass(?:word|phrase|code|wd)?s?|pwd|pin(?:[- ]?(?:code|number))?|(?:api|access|secret|private|"
    r"auth)[- _]?(?:key|token)"
    r"|token|secret|cvv|cvc|passwort|kennwort|mot de passe|code secret|contrase(?:ñ|n)a|clave|"
    r"parola d'ordine|senha|密码|口令|密钥"
)
# "password is hunter2", "my PIN: 4711", "senha=…": group 2, after the verb or the sign, is the secret. A
# password manager has a name that is none. "my$ecret1" begins with an ordinary word and is a secret.
_NAMED = re.compile(
    rf"((?:\b|(?<=[\u4e00-\u9fff]))(?:{_NAMING_WORD})"
    r"(?:\s+(?!manager|vault|app\b)\w+){0,3}?\s*"
    r"(?:\bis\b|\bwas\b|\bist\b|\blautet\b|\best\b|\bes\b|\bè\b|\bé\b|是|为|[:=：])\s*[\"'“”«»`]?)"
    r"(?!(?:the|a|an|my|not|too|so|very|always|never|in|on|at|lost|wrong|weak|about|that|"
    r"to)[.!?,;:]*(?:\s|\Z))([^\s\"'“”«»`,，。;；]{3,})",
    re.I,
)
# "The secret of …" and "the secret to …", unless it is that of a service or a device.
_SAYING = re.compile(
    r"\Asecret (?:of|to) (?!.*\b(?:api|app|account|client|server|service|site|login|wi-?fi|router|key)\b)",
    re.I,
)
# "my password manager login is hunter2": with other words between, only a value with a digit is a secret.
_NAMED_FAR = re.compile(
    rf"(\b(?:{_NAMING_WORD})(?:\s+\w+){{1,3}}?\s*(?:\b(?:is|was|ist|lautet|est|es|è|é)\b|[:=])\s*[\"'“”«»`]?)"
    r"(?=[^\s,;]*\d)([^\s\"'“”«»`,;]{3,})",
    re.I,
)
# "password hunter2": without a verb only a value of letters and digits, which is no ordinary word.
_BARE = re.compile(
    rf"(\b(?:{_NAMING_WORD})\s+)(?=[^\s,;]*\d)([^\s\"'`,;]*[A-Za-z][^\s\"'`,;]*)",
    re.I,
)
# "PIN 4711", "wifi password 123456": a value without letters has four characters or more, because of "I
# changed the password 3 times". Dates and quantities are none, and the number of a ski pass is no secret.
_BARE_NUMBER = re.compile(
    rf"(\b(?!(?:pass(?:es)?|tokens?|secrets?)\s+\d)(?:{_NAMING_WORD})[ \t]+)"
    r"(?!\d{4}-\d\d-\d\d\b|\d+ (?:bits?|bytes|seconds|minutes|times|words|characters|edition)\b)"
    r"(\d[\d!#$%&*+_?-]{3,})",
    re.I,
)
# 13 to 19 digits, with or without separators; `_passes_luhn` decides whether they are a card number.
# Digits after a decimal point are no card number.
_CARD = re.compile(r"(?<!\d)(?<!\d\.)\d(?:[ -]?\d){12,18}(?![\d])")
# At least 24 characters of an encoded key without spaces; `_looks_random` decides.
_DENSE = re.compile(r"(?<![\w/.-])[A-Za-z0-9+/_=-]{24,}(?![\w/.-])")


def redact_secrets(text: str) -> str:
    """Return the text with every secret replaced by REDACTED; idempotent."""
    text = _PEM.sub(REDACTED, text)
    text = _PREFIXED.sub(REDACTED, text)
    text = _BEARER.sub(rf"\1{REDACTED}", text)
    text = _CARD.sub(lambda m: REDACTED if _passes_luhn(m[0]) else m[0], text)
    text = _DENSE.sub(lambda m: REDACTED if _looks_random(m[0]) else m[0], text)
    text = _NAMED.sub(_redact_named_value, text)
    text = _NAMED_FAR.sub(_redact_value, text)
    text = _BARE.sub(_redact_value, text)
    return _BARE_NUMBER.sub(_redact_value, text)


def contains_secret(text: str) -> bool:
    """Return whether the text has a secret or a REDACTED mark."""
    return REDACTED in text or redact_secrets(text) != text


def _redact_value(match: re.Match[str]) -> str:
    # A value that is redacted already stays unchanged, so that redaction is idempotent.
    return match[0] if match[2].startswith(REDACTED[:9]) else match[1] + REDACTED


def _redact_named_value(match: re.Match[str]) -> str:
    """Redact a value after its name. "The secret of my bread is patience" names no secret."""
    is_saying = bool(_SAYING.match(match[1])) and match[2].rstrip(".!?").isalpha()
    return match[0] if is_saying else _redact_value(match)


def _passes_luhn(digits: str) -> bool:
    """Return whether the digits have a valid Luhn check digit, as card numbers do."""
    numbers = [int(c) for c in digits if c.isdigit()]
    doubled = [n * 2 - 9 if n > 4 else n * 2 for n in numbers[-2::-2]]
    return (sum(numbers[-1::-2]) + sum(doubled)) % 10 == 0


def _looks_random(token: str) -> bool:
    """Return whether a token is probably a key: it has letters and digits, and a high entropy."""
    if not (re.search(r"\d", token) and re.search(r"[A-Za-z]", token)):
        return False
    counts = Counter(token)
    entropy = -sum(n / len(token) * math.log2(n / len(token)) for n in counts.values())
    # In bits per character over 24 characters: English text is below 3.2, hex keys reach 3.5, base64 keys 4.
    return entropy > 3.2
