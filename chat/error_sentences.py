"""The English sentence of each error code that a person can read. Standard library only.

The sentences are the message ids of the translations; `chat.error_messages` renders them in the reader's
language. `%(name)s` stands for a parameter of the code. A sentence without `gettext_noop` appears only in the
terminal, where commands print English.
"""

from __future__ import annotations


def gettext_noop(sentence: str) -> str:
    """Mark a sentence for translation; Django's own function needs Django, which a bare machine lacks."""
    return sentence


SENTENCES: dict[str, str] = {
    # Input that is empty, too long or not one of the choices.
    "text-empty": gettext_noop("Write something first."),
    "name-empty": gettext_noop("Write a name first."),
    "title-empty": gettext_noop("Write a title first."),
    "fact-empty": gettext_noop("Write what to remember."),
    "fact-without-words": gettext_noop("This contains no words. Write what to remember as a sentence."),
    "fact-is-secret": gettext_noop("This looks like a secret. Secrets are not stored."),
    "message-too-long": gettext_noop("This message is longer than %(most)s characters. Send it in parts."),
    "name-too-long": gettext_noop("A name has at most %(most)d characters."),
    "fact-too-long": gettext_noop("A memory has at most %(most)d characters. Shorten it a little."),
    "app-memory-too-long": gettext_noop("At most %(most)d characters, please."),
    "persona-too-long": gettext_noop("A persona has at most %(most)d characters. This one has %(here)d."),
    "category-unknown": gettext_noop("Choose project, preference or identity."),
    "memory-mode-unknown": gettext_noop("Choose on, read-only or off."),
    "strategy-unknown": gettext_noop("Choose one of the strategies."),
    "theme-unknown": gettext_noop("Choose light, dark or as the system has it."),
    "language-unknown": gettext_noop("Choose one of the languages."),
    "time-zone-unknown": gettext_noop("There is no time zone with this name."),
    "seconds-not-a-number": gettext_noop("Write the seconds as a whole number."),
    "seconds-out-of-range": gettext_noop("Choose between %(shortest)d and %(longest)d seconds."),
    "prune-after-unknown": gettext_noop("Choose one of the times."),
    "switch-unknown": gettext_noop("Choose on or off."),
    "setting-unknown": gettext_noop("There is no such setting."),
    "window-not-a-number": gettext_noop("Write the window as a whole number of tokens."),
    "window-out-of-range": gettext_noop("Choose a window between %(least)d and %(most)d tokens."),
    "key-malformed": gettext_noop("This is not a valid key: it contains a space or an unusual character."),
    "highlight-too-long": gettext_noop(
        "That is too long to remember as one. Select up to %(most)d characters."
    ),
    "highlight-not-found": gettext_noop("These words are not in the message. Select them again."),
    "importance-unknown": gettext_noop("Choose low, medium or full."),
    "erasure-not-confirmed": gettext_noop("Type “%(word)s” to delete everything."),
    "no-file-chosen": gettext_noop("Choose a file first."),
    "bulk-action-unknown": gettext_noop("Choose project, preference or identity."),
    "no-facts-chosen": gettext_noop("Choose at least one memory."),
    "file-too-large": gettext_noop(
        "This file is larger than %(most)d MB. Import it in the terminal: manage.py import_memory"
    ),
    "file-too-large-on-server": gettext_noop(
        "This file is larger than %(most)d MB. Ask the people who run this server to import it."
    ),
    "several-people": gettext_noop("This file holds memories of several people: %(names)s. Choose yours."),
    "command-unknown": gettext_noop(
        "There is no command /%(name)s. To send it as a message, put a space before it."
    ),
    "command-needs-text": gettext_noop("Write after /%(name)s: %(what)s."),
    "command-takes-no-text": gettext_noop(
        "/%(name)s stands alone. To send this as a message, put a space before it."
    ),
    # The state of a conversation or a message.
    "conversation-deleted": gettext_noop("This chat has been deleted."),
    "conversation-gone": gettext_noop("This chat has already been deleted."),
    "conversation-not-found": gettext_noop("No chat matches this."),
    "conversation-temporary": gettext_noop("This temporary chat is deleted when you leave it."),
    "conversation-empty": gettext_noop("Nothing has been said here yet."),
    "memory-off-in-temporary": gettext_noop("Memory stays off in a temporary chat."),
    "reply-in-progress": gettext_noop("The reply is still being written. Stop it, or wait for its end."),
    "another-reply-in-progress": gettext_noop(
        "A reply is still being written. Stop it, or wait for its end."
    ),
    "reply-not-last": gettext_noop("Only the last reply of a conversation can be written anew."),
    "reply-replaced": gettext_noop("This reply has been written anew already."),
    "message-not-editable": gettext_noop("Only your own messages can be changed, and each of them once."),
    "nothing-to-clear": gettext_noop("There is nothing to clear yet."),
    "nothing-cleared": gettext_noop("The model sees everything that was said here."),
    "nothing-to-delete": gettext_noop("There is nothing to delete yet."),
    "nothing-to-undo": gettext_noop("There is nothing to undo."),
    # The state of an app.
    "app-archived": gettext_noop("“%(app)s” has been put away. Bring it back first."),
    "app-name-taken": gettext_noop("There is an app with this name already."),
    "app-is-only-one": gettext_noop("This is your only app. Make another one first."),
    "app-memories-being-cleared": gettext_noop(
        "This app is forgetting what it remembers. Try again in a few seconds."
    ),
    # The state of memory.
    "fact-gone": gettext_noop("This memory has already been deleted."),
    "facts-gone": gettext_noop("These memories have already been deleted."),
    "nothing-to-forget": gettext_noop("There is nothing to forget."),
    "fact-not-found": gettext_noop("No memory matches this."),
    "fact-known": gettext_noop("This is already a memory of its own."),
    "fact-pending-deletion": gettext_noop("This memory is being forgotten. Undo that first."),
    "fact-superseded": gettext_noop("This memory has been replaced by a newer one."),
    "fact-archived": gettext_noop("This memory is in the archive. Bring it back first."),
    "fact-not-archived": gettext_noop("This memory is no longer in the archive."),
    "pins-all-used": gettext_noop("%(most)d memories are pinned, and that is the most. Unpin one first."),
    "pins-too-few": gettext_noop(
        "At most %(most)d memories can be pinned. There is room for %(left)d more. Nothing was changed."
    ),
    "history-point-unknown": gettext_noop("This is not a point in this memory's history."),
    "history-text-erased": gettext_noop("The text of this version has been erased."),
    "undone-already": gettext_noop("This has already been undone."),
    "too-late-to-undo": gettext_noop("It is too late to undo this."),
    "version-conflict": gettext_noop("This has changed since you read it. Read it again first."),
    # Tokens, requests, imports and the model's settings.
    "token-name-taken": gettext_noop("There is a token with this name already."),
    "tokens-all-used": gettext_noop("There are %(most)d tokens, and that is the most."),
    "server-overloaded": gettext_noop("Too many requests wait here. Try again in a moment."),
    "quota-messages": gettext_noop(
        "Messages a minute are limited to %(most)d for each person. Try again in %(wait)s."
    ),
    "quota-model-seconds": gettext_noop(
        "Seconds of the model a day are limited to %(most)d for each person. Try again in %(wait)s."
    ),
    "quota-imports": gettext_noop(
        "Imports a day are limited to %(most)d for each person. Try again in %(wait)s."
    ),
    "wait-seconds": gettext_noop("%(count)d seconds"),
    "wait-minutes": gettext_noop("%(count)d minutes"),
    "wait-hours": gettext_noop("%(count)d hours"),
    "quota-not-yours": gettext_noop("Only an administrator can set the limits of a person."),
    "quota-not-a-number": gettext_noop("A limit is a whole number, or empty for the limit of the server."),
    "quota-out-of-range": gettext_noop("A limit is a number from 0, which is no limit, to %(most)d."),
    "queue-full": gettext_noop("Too many people are waiting right now. Try again in a minute."),
    "queue-full-of-yours": gettext_noop(
        "%(count)d of your messages are waiting already. Send this one when some of them are answered."
    ),
    "password-wrong": gettext_noop("This is not your password. Nothing was changed."),
    "code-wrong": gettext_noop("This code is wrong, or was used already. Nothing was changed."),
    "login-not-fresh": gettext_noop("Log out and log in again with %(name)s first. Nothing was changed."),
    "session-gone": gettext_noop("This session has ended already."),
    "email-invalid": gettext_noop("This is not an email address."),
    "email-yours-already": gettext_noop("This is your address already."),
    "email-sent-before": gettext_noop(
        "A link was sent to this address just now. Try again in three minutes."
    ),
    "email-not-sent": gettext_noop("The email could not be sent. Try again later, or tell an admin."),
    "logins-limited": gettext_noop("Too many attempts failed. Try again in five minutes."),
    "token-scopes-empty": gettext_noop("Choose at least one thing that the token allows."),
    "token-scope-unknown": gettext_noop("A token cannot allow that."),
    "token-end-unknown": gettext_noop("Choose when the token ends from the list."),
    "token-revoked": gettext_noop("The token “%(name)s” was revoked in the settings."),
    # Accounts of server mode.
    "admin-exists": gettext_noop("There is an admin account already. Its owner can invite others."),
    "first-link-invalid": gettext_noop("This link does not work any more."),
    "nothing-to-adopt": gettext_noop("There are no chats and memories of local mode to take over."),
    "account-name-taken": gettext_noop("Somebody has this name already. Choose another one."),
    "account-name-reserved": gettext_noop("This name is reserved. Choose another one."),
    "too-many-waiting": gettext_noop("Too many people wait for an account already. Try again in a few days."),
    "account-not-waiting": gettext_noop("This account does not wait for approval any more."),
    "account-waiting": gettext_noop("This account waits for approval."),
    "account-active": gettext_noop("This account is active already."),
    "account-inactive": gettext_noop("This account is not active."),
    "last-admin": gettext_noop("This is the last admin. Make somebody else an admin first."),
    "account-being-deleted": gettext_noop("This account is being deleted. Bring it back first."),
    "account-not-being-deleted": gettext_noop("This account is not being deleted."),
    "account-act-unknown": gettext_noop("Choose one of the things that can be done with an account."),
    "role-unknown": gettext_noop("Choose member or admin."),
    "two-factor-off": gettext_noop("Two-factor is off for this account already."),
    "note-too-long": gettext_noop("This note has more than %(most)d characters. Shorten it."),
    "invitation-end-unknown": gettext_noop("Choose how long the invitation is valid from the list."),
    "invitations-all-used": gettext_noop(
        "There are %(most)d open invitations, and that is the most. Revoke one first."
    ),
    "invitation-unknown": gettext_noop("There is no such invitation. Is the link complete?"),
    "invitation-used": gettext_noop("This invitation was used already. It makes one account only."),
    "invitation-revoked": gettext_noop("This invitation was taken back. Ask for a new one."),
    "invitation-expired": gettext_noop("This invitation has expired. Ask for a new one."),
    "invitation-gone": gettext_noop("This invitation was used or revoked already."),
    "idempotency-key-reused": gettext_noop(
        "This Idempotency-Key came with another request before. Use a new one."
    ),
    "import-in-progress": gettext_noop("Another import is at work. Wait until it is done."),
    "upload-in-use": gettext_noop("Another file is being read or imported. Wait until that is done."),
    "import-lost": gettext_noop(
        "Everything was deleted meanwhile, or the import stalled. Nothing was imported."
    ),
    "own-model-not-set-up": gettext_noop(
        "This server has no model of its own. Run manage.py prepare on it first."
    ),
    "provider-not-found": gettext_noop(
        "%(program)s does not answer on this machine. Start it and try again."
    ),
    "provider-model-gone": gettext_noop("%(program)s no longer has the model “%(model)s”."),
    "provider-not-yours": gettext_noop("Only the person who runs memoryapp can choose the model."),
    # Why a reply ended early.
    "stopped-by-user": gettext_noop("You stopped this reply."),
    "stopped-by-client": gettext_noop("The program that asked for this reply disconnected."),
    "stopped-by-shutdown": gettext_noop("memoryapp was closed while this was being written."),
    "queue-too-long": gettext_noop("Too many people are waiting right now. Try again in a minute."),
    "reply-failed": gettext_noop("Something went wrong while this was being written. Your message is saved."),
    "no-message-to-answer": gettext_noop("There is no message to answer."),
    # The model on this machine.
    "no-model": gettext_noop("No model is loaded in this process."),
    "no-engine": gettext_noop(
        "This installation has no engine for a model of its own. Choose a model on a server in the settings."
    ),
    "worker-without-model-server": gettext_noop(
        "This worker uses models on servers only. Choose one in the settings, under “Model”."
    ),
    "model-loading": gettext_noop("The model is loading. You can write already."),
    "model-still-loading": gettext_noop("The model is still loading."),
    "model-not-loaded": gettext_noop("The model could not be loaded. %(why)s"),
    "model-closed": gettext_noop("The model has been shut down."),
    "model-file-broken": gettext_noop(
        "The model file could not be loaded. `manage.py weights verify` checks it."
    ),
    "model-file-not-gguf": gettext_noop("%(file)s is no GGUF file. Models come as files that end in .gguf."),
    "model-file-old": gettext_noop(
        "%(file)s has a format that llama.cpp no longer reads. Fetch the model as a newer GGUF file."
    ),
    "model-file-incomplete": gettext_noop("%(file)s is incomplete. Fetch it again."),
    "model-file-projector": gettext_noop(
        "%(file)s is the projector of a model for pictures. Name the file of the model itself."
    ),
    "model-file-adapter": gettext_noop("%(file)s is an adapter for another model, not a model."),
    "model-file-embedder": gettext_noop("%(file)s compares sentences and cannot write. Choose a chat model."),
    "model-file-part": gettext_noop("%(file)s is one part of a model. Name its first part, %(first)s."),
    "model-file-part-missing": gettext_noop(
        "A part of the model is missing: %(file)s. All parts must be in one folder."
    ),
    "model-without-template": gettext_noop(
        "This model file has no chat template, so it cannot be used for chatting."
    ),
    "model-template-refused": gettext_noop("The model's chat template refused this conversation (%(what)s)."),
    "window-needs-memory": gettext_noop(
        "There is not enough memory for the model's window. Close something or set WINDOW lower."
    ),
    "engine-failed": gettext_noop("The model's engine failed (%(what)s)."),
    "engine-failed-reading": gettext_noop(
        "The model's engine failed while reading. The message is saved; try again."
    ),
    "engine-without-slot": gettext_noop("The model's engine has no free slot."),
    "engine-grammar-unreadable": gettext_noop("The answer format could not be read by the model's engine."),
    "text-not-tokenised": gettext_noop("A text could not be tokenised."),
    "conversation-too-long": gettext_noop("This conversation is longer than the model's window."),
    "model-stopped": gettext_noop("The model was stopped before it had finished."),
    "model-slow": gettext_noop("The model took too long."),
    "form-not-kept": gettext_noop("The model answered in a wrong format twice."),
    "no-summary": gettext_noop("The model gave no summary."),
    "summary-unfaithful": gettext_noop("The model's summary does not match the conversation."),
    "summary-unfinished": gettext_noop("The summary was not finished."),
    "no-title": gettext_noop("The model gave no title."),
    "app-memory-choice-unreadable": gettext_noop("The model's answer names no memory."),
    "app-memory-choice-unrelated": gettext_noop("The chosen memory is not related to the new one."),
    "grammar-unreadable": gettext_noop("This grammar cannot be read: %(what)s"),
    # A model on a server.
    "server-connecting": gettext_noop("Connecting to the model's server. You can write already."),
    "server-retrying": gettext_noop(
        "The model's server cannot be reached. You can write already; it is tried again and again."
    ),
    "server-unreachable": gettext_noop("Couldn't reach the model. Your message is saved."),
    "server-unreachable-no-message": gettext_noop("Couldn't reach the model."),
    "server-silent": gettext_noop("The model did not answer in time. Your message is saved."),
    "server-silent-no-message": gettext_noop("The model did not answer in time."),
    "server-connection-lost": gettext_noop("The connection to the model broke off. What had come is kept."),
    "server-busy": gettext_noop("The model's server has too much to do. Try again in a moment."),
    "server-loading": gettext_noop("The model's server is still loading the model."),
    "server-no-credit": gettext_noop("The account at the model's server has no credit left."),
    "server-key-refused": gettext_noop("The model's server does not accept the key."),
    "server-certificate-untrusted": gettext_noop(
        "This machine does not trust the certificate of the model's server."
    ),
    "server-without-tls": gettext_noop("The server at this address does not support https."),
    "server-without-models": gettext_noop(
        "The model's server lists no model. Load one there, or enter the name of one."
    ),
    "server-model-unknown": gettext_noop("The model's server has no model of this name."),
    "server-other-model": gettext_noop(
        "The server %(host)s has the model %(model)s, and the others have %(wanted)s. It is not used."
    ),
    "server-other-program": gettext_noop(
        "Another program than %(program)s answers at %(host)s now. It is not used. Start %(program)s, or "
        "choose the model again."
    ),
    "server-left-out": gettext_noop("The server failed and is left out for a while."),
    "server-moved": gettext_noop(
        "The model's server sends requests on to another address. Enter that address instead."
    ),
    "server-not-a-model-server": gettext_noop("The server at this address is not a model server."),
    "server-refused": gettext_noop("The model's server refused the request (%(what)s)."),
    "server-no-reply": gettext_noop("The model spent its whole answer on thinking and gave no reply."),
    "address-malformed": gettext_noop("This is not the address of a server."),
    "address-scheme": gettext_noop("The address begins with https:// or, on your own network, with http://."),
    "address-holds-key": gettext_noop("Write the key into its own field, not into the address."),
    "address-holds-query": gettext_noop("The address must not contain ? or #."),
    "address-needs-https": gettext_noop("Outside your own network the address must begin with https://."),
    "addresses-too-many": gettext_noop("At most %(most)d servers can be used."),
    "address-unusable": gettext_noop("No model can be asked at this address."),
    # Weights.
    "weights-unknown": gettext_noop("There is no model named %(name)s. The catalogue has %(known)s."),
    "weights-missing": gettext_noop("The weights of %(name)s are not on this machine."),
    "weights-path-missing": gettext_noop(
        "MODEL_PATH names %(path)s, which is not there. Correct it, or unset it to use the catalogue."
    ),
    "weights-no-network": (
        "No source of %(name)s could be reached%(detail)s. Check the connection and run the "
        "same command again: what has arrived is kept."
    ),
    "weights-refused": (
        "The sources of %(name)s refused to hand it out%(detail)s. Choose another model with "
        "MODEL=<name> (python3 manage.py weights list), or point MODEL_PATH at a .gguf file "
        "of your own."
    ),
    "weights-checksum-wrong": (
        "%(file)s is not the file that the catalogue describes: its sha256 differs. It was "
        "not used. Fetch it again: python3 manage.py weights fetch"
    ),
    "weights-disk-full": (
        "The disk of %(folder)s is too full: %(needed)s MB are needed, %(free)s MB are free. "
        "Make room, or name another folder with MODEL_DIR, and run the same command again."
    ),
    "weights-need-memory": (
        "%(name)s needs about %(needed)s GB of memory, and this machine has %(there)s GB. %(way_out)s"
    ),
    "weights-no-pip": (
        "%(python)s has no pip. Run python3 manage.py start, which makes an environment that has."
    ),
    "verbatim": "%(sentence)s",
    # Why memory stores nothing from a statement.
    "is-question": gettext_noop("a question"),
    "is-request": gettext_noop("a request, not a fact"),
    "is-kept-out": gettext_noop("you asked not to save it"),
    "is-forget-request": gettext_noop("a request to forget"),
    "is-role-play": gettext_noop("part of a role-play"),
    "is-hypothetical": gettext_noop("hypothetical"),
    "is-hedged": gettext_noop("the user was not sure"),
    "is-joke": gettext_noop("a joke"),
    "is-order-to-memory": gettext_noop("an instruction to the memory, not a fact"),
    "is-about-others": gettext_noop("about someone else"),
    "is-secret": gettext_noop("contains a secret"),
    "is-about-world": gettext_noop("about the world, not about the user"),
    "is-over": gettext_noop("no longer true"),
    "is-duplicate": gettext_noop("said twice in one message"),
    "is-undated": gettext_noop("depends on the day on which it was said, which is unknown"),
    "not-in-words": gettext_noop("not in the user's words"),
    "name-not-in-words": gettext_noop("“%(name)s” is not in the user's words"),
    "no-quote": gettext_noop("not stated in the message"),
    "is-empty": gettext_noop("without content"),
    "is-vague": gettext_noop("unclear without its context"),
    "is-temporary": gettext_noop("true only for a short time"),
    "is-denied": gettext_noop("the user denied it"),
    "forgotten-since": gettext_noop("You asked to forget this after you wrote it."),
    "extraction-given-up": gettext_noop(
        "Reading this message failed again and again; memory goes on without it."
    ),
    "memory-cleared-since": gettext_noop("You cleared all memory after you wrote this."),
    "extraction-unreadable": gettext_noop(
        "The model's answer could not be read twice; nothing was stored from this message."
    ),
    "comparison-undecided": gettext_noop(
        "The model could not compare a new memory with the known ones; it was stored as a further one."
    ),
    "job-ended-with-process": gettext_noop("The program ended each time during this task."),
    # Why a file cannot be imported; the place in the file stands before the sentence.
    "file-id-twice": gettext_noop("this id stands in the file twice"),
    "file-slug-twice": gettext_noop("two of them have the same slug"),
    "file-too-many-items": gettext_noop("this file holds more than anybody's memory"),
    "field-missing": gettext_noop("is missing"),
    "field-not-a-choice": gettext_noop("is none of the words that may stand here"),
    "file-parent-unknown": gettext_noop("its parent is not there, or is among its own answers"),
    "file-message-id-unusable": gettext_noop("is missing, or another message has the same"),
    "field-not-an-object": gettext_noop("must be an object"),
    "field-not-a-list": gettext_noop("must be a list"),
    "field-not-a-datetime": gettext_noop("must be a date with a time"),
    "file-unknown": gettext_noop("This is none of the files that can be taken."),
    "file-encrypted": gettext_noop(
        "This file is encrypted with another passphrase than the data here. Decrypt it first: age -d"
    ),
    "file-empty": gettext_noop("There is nothing in this file."),
    "file-not-json": gettext_noop("This is not a JSON file, nor an archive with one."),
    "file-size-exceeded": gettext_noop("This file is too large."),
    "archive-without-conversations": gettext_noop("There is no conversations.json in this archive."),
    "archive-unreadable": gettext_noop("This archive is damaged, or locked with a password."),
    "file-item-malformed": gettext_noop("this has not the form that it should have"),
    "archive-damaged": gettext_noop("This archive is damaged."),
    "archive-mixed": gettext_noop("This archive holds files of several programs."),
    "field-not-text": gettext_noop("must be text"),
    "file-format-unknown": gettext_noop("this is another program's format"),
    "file-topic-id-twice": gettext_noop("two of them have the same id"),
    "field-not-a-whole-number": gettext_noop("must be a whole number"),
    "file-version-newer": gettext_noop(
        "This file is of a newer version of memoryapp. Update this one first."
    ),
    "file-message-id-twice": gettext_noop("another message has the same id"),
    "file-message-place-twice": gettext_noop("another message has the same place"),
    "file-topic-unknown": gettext_noop("there is no such topic in this conversation"),
    "file-replacement-unknown": gettext_noop("there is no such later message in this conversation"),
    "file-item-too-large": gettext_noop("this is too large"),
    "file-not-utf8": gettext_noop("This file is not text in UTF-8."),
    "file-truncated": gettext_noop("the file ends too early"),
    "file-json-malformed": gettext_noop("this is not JSON"),
    "file-nested-too-deeply": gettext_noop("this is nested too deeply, or holds a number that is none"),
    "file-text-after-end": gettext_noop("something follows after the end"),
    "field-too-long": gettext_noop("is too long"),
    "field-empty": gettext_noop("is empty"),
    "field-not-a-number": gettext_noop("must be a number"),
    "field-not-a-boolean": gettext_noop("must be true or false"),
    "field-not-a-uuid": gettext_noop("must be a UUID"),
    "field-without-time-zone": gettext_noop("must name its time zone"),
    "field-invalid": gettext_noop("has a value that may not stand here"),
    "file-position-in-archive": "%(name)s: %(where)s",
    "file-position": gettext_noop("line %(line)d, column %(column)d"),
}
