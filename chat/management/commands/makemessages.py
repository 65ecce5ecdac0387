"""`manage.py makemessages`: Django's, which also knows how the modules here call `gettext_lazy`."""

from __future__ import annotations

from django.core.management.commands import makemessages


class Command(makemessages.Command):
    """Gather what is to be translated: `makemessages -l de --no-obsolete --add-location file`."""

    xgettext_options = [*makemessages.Command.xgettext_options, "--keyword=lazy"]
