"""More exchanges of a sample conversation; with `sample_talk.TALK` it has fifty different messages."""

MORE: list[tuple[str, str]] = [
    (
        "Something else: we move the gym's member list from a spreadsheet into the database next week. What should I "
        "check before I import it?",
        "Look at the data before you write any code. Sort every column and read its first and last twenty values: that "
        "shows empty cells, dates in two formats and phone numbers that lost their leading zero. Then check four "
        "things:\n\n"
        "1. **Duplicates.** Group by e-mail address in lower case, and by name and birthday. Decide by hand which row "
        "is the right one; there will be fewer than you fear.\n"
        "2. **Members without an e-mail address.** If the new table requires one, either make the column optional or "
        "collect the addresses at the counter during the next month.\n"
        "3. **Ends of memberships.** A spreadsheet often says “cancelled” in a comment. Make it a date.\n"
        "4. **Consent.** You may only import what people agreed to have stored, so leave out notes about injuries.\n\n"
        "Import into a copy first and compare the counts: rows in, members out, rows refused with the reason for each.",
    ),
    (
        "Can you show me how such an import would look as a management command?",
        "```python\nimport csv\n\nfrom django.core.management.base import BaseCommand\nfrom django.db import transaction\n\n"
        'from members.models import Member\n\n\nclass Command(BaseCommand):\n    help = "Import members from a CSV file."\n\n'
        '    def add_arguments(self, parser):\n        parser.add_argument("path")\n'
        '        parser.add_argument("--dry-run", action="store_true")\n\n'
        "    def handle(self, path, dry_run, **options):\n        made, refused = 0, []\n        with transaction.atomic():\n"
        '            for line, row in enumerate(csv.DictReader(open(path, newline="")), start=2):\n'
        '                member = Member(name=row["Name"].strip(), email=row["Mail"].strip().lower())\n'
        "                try:\n                    member.full_clean()\n                except ValidationError as problem:\n"
        "                    refused.append((line, problem))\n                    continue\n                member.save()\n"
        "                made += 1\n            if dry_run:\n                transaction.set_rollback(True)\n"
        '        self.stdout.write(f"{made} imported, {len(refused)} refused")\n```\n\n'
        "The dry run does everything and rolls back at the end, so what it reports is what will happen. Your project is "
        "in Flask, of course; there the same shape works as a Click command with one session.",
    ),
    (
        "Right, Flask. And what do we do with the members who never answer our mails?",
        "Nothing hasty. Mark them as unconfirmed, keep what the contract needs, and stop sending them news. After the "
        "period in which claims can still be made, delete the row and keep only the invoices. Put that period into the "
        "settings with a comment that names the rule, since the next person will ask where the number comes from.",
    ),
    (
        "Different subject. My tomatoes on the balcony have yellow leaves at the bottom. Is that serious?",
        "Usually not. The lowest leaves turn yellow first when the plant moves its nitrogen upwards, which happens in "
        "pots after six to eight weeks because watering washes the nutrients out. Feed it once a week with a liquid "
        "tomato fertiliser and take off the yellow leaves, so that nothing wet lies on the soil.\n\n"
        "It is something else if you see brown spots with rings (early blight), leaves that curl and feel thick (too "
        "much water or cold nights), or tiny webs on the underside (spider mites). Blight needs quick action: cut off "
        "every leaf with spots, put them into the household rubbish and not on the compost, and keep the foliage dry.",
    ),
    (
        "There are small white flies when I touch the plant. Which of those is it?",
        "None of them: those are whitefly. They sit on the underside and suck sap, and the sticky film they leave lets "
        "sooty mould grow. Hang two yellow sticky traps just above the plant, rinse the undersides with water in the "
        "evening for three days, and then spray with soft soap (about 20 g in a litre). Repeat after five days, because "
        "the eggs survive the first round. If you have a few of these plants, ichneumon wasps work very well indoors "
        "and badly on a windy balcony.",
    ),
    (
        "How often should I water them in July?",
        "In the morning, every day, and in a heatwave once more in the late afternoon. Lift the pot: when it is light, "
        "water until some runs out of the bottom, then pour away what stands in the saucer after half an hour. Uneven "
        "watering is what makes the fruit split and gives the brown sunken end at the flower's place, so a regular "
        "small amount is better than a flood every third day.",
    ),
    (
        "Good. Now back to work: the booking page is slow on Monday evenings. How do I find out why?",
        "Measure where the time goes before you change anything. Three numbers are enough to begin with: how long a "
        "request takes in the server, how much of it is spent in the database, and how many queries it sends. Log those "
        "with the path, and look at the slowest hundred of a Monday.\n\n"
        "My guess is a query for each slot: the page shows fourteen days with twelve slots, and if every cell asks for "
        "its bookings, that is 168 queries. On a quiet day each takes a millisecond and nobody notices; when forty "
        "people reload at six o'clock they queue for connections. One query for the whole fortnight, grouped in Python, "
        "removes the problem rather than hiding it behind a cache.",
    ),
    (
        "You were right, it was 171 queries. With one query it takes 40 ms. Should I still add a cache?",
        "No. A cache would have to be emptied at every booking, and a stale cell is exactly the bug that people "
        "complained about. Keep the 40 ms, and write down the number of queries in a test so that it cannot creep up "
        "again:\n\n```python\ndef test_the_calendar_asks_the_database_three_times(client, queries):\n"
        '    client.get("/calendar/")\n    assert len(queries) <= 3\n```\n\n'
        "If Mondays become slow again one day, look at the database's own statistics first; an index over the date "
        "column is the next thing that I would try.",
    ),
    (
        "The owner wants a monthly report: bookings a day, no-shows, the fullest hours. What is the simplest way?",
        "A page, not a PDF. Three small queries answer it: count by date, count of bookings without a check-in by date, "
        "and count by weekday and hour. Show the first two as one table with a row a day, and the third as a grid of "
        "seven columns, each cell shaded by its share of the maximum. That grid is what the owner will look at: it "
        "shows at a glance that Tuesday at seven is full and Sunday morning is empty.\n\n"
        "Give the address a month as its parameter and let the browser print it. If it must arrive by mail, send the "
        "link on the first of the month; people who want to forward it can still print to a file.",
    ),
    (
        "How should no-shows be counted when somebody cancels an hour before?",
        "Separately. A late cancellation costs the gym the same place but it is polite, and if it counts like a no-show "
        "nobody will bother to cancel. I would keep three outcomes: came, cancelled late, did not come. Define late in "
        "one place (say, two hours) and store the outcome with the booking when the slot begins, so that changing the "
        "rule next year does not rewrite the past.",
    ),
    (
        "We're flying to Lisbon with two small children in May. What should we not miss?",
        "With small children, less is more: one thing in the morning, a long lunch, a playground in the afternoon.\n\n"
        "- **Oceanário.** The best morning of the trip for most children; buy tickets for the first hour.\n"
        "- **Jardim da Estrela.** A playground, ducks and a kiosk with coffee, with the basilica next door.\n"
        "- **The ferry to Cacilhas.** Ten minutes on the river for the price of a bus, and grilled fish on the other "
        "side.\n- **Belém early.** The custard tarts are better at half past eight, and there is room to run in front of "
        "the tower.\n\nTake a carrier instead of a pushchair for Alfama: the hills and the cobbles make wheels a burden. "
        "The tram 28 is famous and hot and full; the 24 climbs similar hills with seats free.",
    ),
    (
        "Is Sintra possible as a day trip with them?",
        "Yes, if you choose one palace and leave early. Trains go from Rossio every half hour and take forty minutes. "
        "Buy the tickets for Pena the day before with an entrance time at half past nine, take the bus up, and walk down "
        "through the park rather than queueing for the bus again; it is downhill, shady and full of things to climb. Be "
        "back at the station by two. Skip the Moorish castle this time: the walls have no railing worth the name.",
    ),
    (
        "What will the weather be like, and can we swim?",
        "Mild and mostly dry: about 22 degrees by day, 14 at night, with a wind from the sea in the afternoon. The "
        "Atlantic has 16 or 17 degrees then, which children mind less than their parents. The beach at Carcavelos has "
        "lifeguards and a train station; Costa da Caparica is wider and needs a bus. Pack a thin jacket for everybody.",
    ),
    (
        "One more about the gym: somebody wrote a review that says our page cannot be used with a screen reader. Where "
        "do I start?",
        "Try it yourself for ten minutes: switch the screen off, use the keyboard only, and book a slot. You will notice "
        "the worst problems at once. In calendars they are nearly always the same ones:\n\n"
        "1. The cells are `div`s with a click handler. Make them buttons: then they get the focus, and Enter works.\n"
        "2. A cell says “3”. Give it words: “Tuesday 12 May, 19:00, 3 places free”.\n"
        "3. Colour alone says that a slot is full. Add the word.\n"
        '4. After booking nothing is announced. One element with `role="status"` that receives the sentence is enough.\n'
        "5. The date picker traps the focus. Use the browser's own input.\n\n"
        "Then answer the review, say what you mended and ask the person to try again. They took the trouble to write.",
    ),
    (
        "Would a table be better than a grid of buttons?",
        "A table with buttons in its cells, yes. Header cells for the days and the hours let a screen reader say both "
        "when it moves from cell to cell, for free, and the arrow keys of its table mode work as people expect. The "
        "pattern called grid in the ARIA guide asks you to handle every arrow key yourself; it is meant for "
        "spreadsheets, and half-done it is worse than a plain table.",
    ),
    (
        "I have to give a talk of twenty minutes about this rewrite at a local meetup. How would you structure it?",
        "Tell it as a story with one idea: the page jumped, and mending that properly led to everything else.\n\n"
        "- *Three minutes:* show the jump on the old page, with a second browser that takes the slot. People will groan, "
        "which is what you want.\n- *Five minutes:* why it happened, and the one rule you adopted: replace only what "
        "changed.\n- *Five minutes:* what the rule made possible, with code on at most three slides: the cell as a "
        "template of its own, the answer to the loser of the race, the sentence for screen readers.\n"
        "- *Three minutes:* numbers before and after. 171 queries against one is a line that they will repeat.\n"
        "- *Four minutes:* what you would do differently, then questions.\n\n"
        "Rehearse it aloud twice with a clock. The second time you will cut the slide that you like most.",
    ),
    (
        "And if somebody asks why we did not simply use a big JavaScript framework?",
        "Say that you looked at what the page needs: one list, one calendar, one form, and two people who maintain it in "
        "the evenings. Server-rendered pieces meant one language, no build step and a page that works on the old tablet "
        "at the counter. A framework would have been right if the page had to work offline, or if ten people built "
        "forty screens at once. Nobody argues with a choice whose reasons and limits are both named.",
    ),
]
