"""`manage.py makemessages`: Django's command, which also finds strings marked with `lazy(...)`."""

from __future__ import annotations

from django.core.management.commands import makemessages


class Command(makemessages.Command):
    """Collect the strings to translate: `makemessages -l de --no-obsolete --add-location file`."""

    xgettext_options = [*makemessages.Command.xgettext_options, "--keyword=lazy"]
