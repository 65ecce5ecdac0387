import json
import re

from django.db import migrations

# What versions before this one stored as sentences, and the codes that are stored from now on.
CODES = {
    "No model is loaded in this process.": "no-model",
    "The model is loading. You can write already.": "model-loading",
    "The model is still loading.": "model-still-loading",
    "The model has been shut down.": "model-closed",
    "The model's engine failed while reading. The message is saved; try again.": "engine-failed-reading",
    "The model's engine has no seat left.": "engine-without-slot",
    "The model file could not be loaded. `manage.py weights verify` checks it.": "model-file-broken",
    "There is not enough memory for the model's window. Close something or set WINDOW lower.": "window-needs-memory",
    "This model file has no chat template, so it cannot be used for chatting.": "model-without-template",
    "A text could not be tokenised.": "text-not-tokenised",
    "The answer format could not be read by the model's engine.": "engine-grammar-unreadable",
    "This conversation is longer than the model's window.": "conversation-too-long",
    "The model gave no summary.": "no-summary",
    "The model gave no title.": "no-title",
    "The model told something else than what was said.": "summary-unfaithful",
    "The summary was not finished.": "summary-unfinished",
    "The model took longer than it may.": "model-slow",
    "There is no message to answer.": "no-message-to-answer",
    "Connecting to the model's server. You can write already.": "server-connecting",
    "The model's server cannot be reached. You can write already; it is tried again and again.": "server-retrying",
    "Couldn't reach the model. Your message is saved.": "server-unreachable",
    "The model did not answer in time. Your message is saved.": "server-silent",
    "Couldn't reach the model.": "server-unreachable-no-message",
    "The model did not answer in time.": "server-silent-no-message",
    "The connection to the model broke off. What had come is kept.": "server-connection-lost",
    "The model's server has too much to do. Try again in a moment.": "server-busy",
    "The model's server is still loading the model.": "server-loading",
    "The account at the model's server has no credit left.": "server-no-credit",
    "The model's server does not accept the key.": "server-key-refused",
    "This machine does not trust the certificate of the model's server.": "server-certificate-untrusted",
    "The model's server does not speak https at this address.": "server-without-tls",
    "The model's server lists no model. Load one there, or enter the name of one.": "server-without-models",
    "The model's server has no model of this name.": "server-model-unknown",
    "The model's server sends requests on to another address. Enter that address instead.": "server-moved",
    "What is at this address does not answer as a model's server does.": "server-not-a-model-server",
    "The model used up its room for thinking and gave no reply.": "server-no-reply",
    "The model did not keep to the form that was asked for, twice.": "form-not-kept",
    "The model was stopped before it had finished.": "model-stopped",
    "This is no address of a server.": "address-malformed",
    "Outside your own network the address must begin with https://.": "address-needs-https",
    "No model can be asked at this address.": "address-unusable",
    "You stopped this reply.": "stopped-by-user",
    "The program that asked for this went away before its end.": "stopped-by-client",
    "memoryapp was closed while this was being written.": "stopped-by-shutdown",
    "Something went wrong while this was being written. Your message is saved.": "reply-failed",
    "a question states nothing": "is-question",
    "a request, not a fact": "is-request",
    "said in play": "is-role-play",
    "only supposed, not so": "is-hypothetical",
    "the user was not sure": "is-hedged",
    "said in jest": "is-joke",
    "text that gives orders to the memory": "is-order-to-memory",
    "about someone else": "is-about-others",
    "holds a secret": "is-secret",
    "about the world, not about the user": "is-about-world",
    "no longer so": "is-over",
    "said twice in one message": "is-duplicate",
    "not in the user's words": "not-in-words",
    "nothing in the message says so": "no-quote",
    "says nothing": "is-empty",
    "says nothing by itself": "is-vague",
    "only for now": "is-temporary",
    "the user said that it is not so": "is-denied",
    # This reason was stored in the language of its reader.
    "You cleared all memory after you wrote this.": "memory-cleared-since",
    "Du hast danach das ganze Gedächtnis gelöscht.": "memory-cleared-since",
    "You asked to forget this after you wrote it.": "forgotten-since",
    "Du wolltest das vergessen haben, nachdem du es geschrieben hattest.": "forgotten-since",
    "Reading this message failed again and again; memory goes on without it.": "extraction-given-up",
    "Diese Nachricht ließ sich immer wieder nicht lesen; das Gedächtnis macht ohne sie weiter.": "extraction-given-up",
    "The model's notes could not be read, twice; nothing was stored from this message.": "extraction-unreadable",
    "The model did not say how a new memory stands to those known; it was stored beside them.": "comparison-undecided",
    "The program ended each time while this was at work.": "job-ended-with-process",
}
# Sentences with one parameter.
PATTERNS = (
    (r"The model's engine failed \((?P<what>.+)\)\.", "engine-failed"),
    (r"The model's chat template refused this conversation \((?P<what>.+)\)\.", "model-template-refused"),
    (r"The model's server refused the request \((?P<what>.+)\)\.", "server-refused"),
    (r"“(?P<name>.+)” is not in the user's words", "name-not-in-words"),
    (r"The weights of (?P<name>.+) are not on this machine\.", "weights-missing"),
)
_PORTION = 500
# What a job's row holds in front of the sentence.
_ERROR_NAME = re.compile(r"(?:[A-Z]\w+): ")


def code_of(sentence):
    """Return the stored form of a sentence, None where it is not one of ours."""
    if sentence in CODES:
        return CODES[sentence]
    for pattern, code in PATTERNS:
        if found := re.fullmatch(pattern, sentence, re.S):
            return f"{code} {json.dumps(found.groupdict(), ensure_ascii=False)}"
    return None


def _update(model, field, strip=None):
    rows = model.objects.exclude(**{field: ""})
    for stored in list(rows.order_by().values_list(field, flat=True).distinct()):
        sentence = strip.sub("", stored, count=1) if strip else stored
        code = code_of(sentence)
        if code is not None and len(code) <= model._meta.get_field(field).max_length:
            model.objects.filter(**{field: stored}).update(**{field: code})


def forward(apps, schema_editor):
    _update(apps.get_model("chat", "Message"), "failure")
    _update(apps.get_model("chat", "ExtractionRun"), "error")
    _update(apps.get_model("chat", "Job"), "last_error", _ERROR_NAME)
    runs = apps.get_model("chat", "ExtractionRun").objects.order_by("pk").only("refused")
    last = 0
    while portion := list(runs.filter(pk__gt=last)[:_PORTION]):
        last = portion[-1].pk
        changed = []
        for run in portion:
            refused = [{**entry, "reason": code_of(entry["reason"]) or entry["reason"]} for entry in run.refused]
            if refused != run.refused:
                run.refused = refused
                changed.append(run)
        runs.bulk_update(changed, ["refused"])


class Migration(migrations.Migration):

    dependencies = [
        ("chat", "0013_words_better_counted"),
    ]

    operations = [
        migrations.RunPython(forward, migrations.RunPython.noop, elidable=False),
    ]
