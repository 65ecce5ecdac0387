from django.db import migrations
from django.db.models import Q

# As chat/search/words.py has them from now on: what was indexed before is found like what is said next.
LETTERS = {"đ": "d", "ð": "d", "ħ": "h", "ı": "i", "ł": "l", "ø": "o", "ŧ": "t", "æ": "ae", "œ": "oe", "þ": "th"}
BATCH = 500


def write_plainly(apps, schema_editor):
    entries = apps.get_model("chat", "SearchEntry").objects.using(schema_editor.connection.alias)
    concerned = Q()
    for letter in LETTERS:
        concerned |= Q(words__contains=letter)
    table = str.maketrans(LETTERS)
    keys = list(entries.filter(concerned).values_list("pk", flat=True))
    for start in range(0, len(keys), BATCH):
        rows = list(entries.filter(pk__in=keys[start : start + BATCH]).only("words"))
        for row in rows:
            row.words = row.words.translate(table)
        # The database's own index follows by itself (0009).
        entries.bulk_update(rows, ["words"])


class Migration(migrations.Migration):

    dependencies = [
        ("chat", "0011_imported_behind_unread"),
    ]

    operations = [
        migrations.RunPython(write_plainly, migrations.RunPython.noop, elidable=True),
    ]
