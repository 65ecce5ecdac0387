from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("chat", "0014_errors_by_code"),
    ]

    operations = [
        migrations.AddField(
            model_name="message",
            name="importance",
            field=models.FloatField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="topic",
            name="restored_through",
            field=models.PositiveIntegerField(default=0),
        ),
    ]
