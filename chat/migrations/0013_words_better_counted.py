from django.db import migrations

# PostgreSQL keeps a few hundred words of the index in its statistics and takes all others for as common as one in
# two hundred entries. With that it walks through everything from the newest end to find a rare word's few.
FORWARD = ("ALTER TABLE chat_searchentry ALTER COLUMN vector SET STATISTICS 500", "ANALYZE chat_searchentry")
BACK = ("ALTER TABLE chat_searchentry ALTER COLUMN vector SET STATISTICS -1",)


def run(statements):
    def on_postgresql(apps, schema_editor):
        if schema_editor.connection.vendor == "postgresql":
            for statement in statements:
                schema_editor.execute(statement)

    return on_postgresql


class Migration(migrations.Migration):

    dependencies = [
        ("chat", "0012_letters_with_a_stroke"),
    ]

    operations = [
        migrations.RunPython(run(FORWARD), run(BACK), elidable=False),
    ]
