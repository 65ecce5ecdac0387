"""The same conversation carried on: eleven exchanges more, for measurements at some 3,000 tokens."""

MORE: list[tuple[str, str]] = [
    (
        "The desk also wants to see at a glance who is late.",
        "Give each booking a time of arrival that the desk sets with one press, and colour the line by the "
        "difference: nothing for the first ten minutes, a quiet amber until twenty, then a filled dot. Do not let "
        "the list reorder itself while somebody looks at it; a name that jumps is a name that is pressed by "
        "mistake. Put the late ones into a small count at the top instead, which leads to the first of them.",
    ),
    (
        "Some members share one account as a family. How do I model that?",
        "Keep the account and the person apart. The account pays and logs in; a person climbs, has an age and a "
        "certificate, and belongs to exactly one account. A booking names a person. Limits such as two slots a day "
        "then count people and not accounts, which is what the rule meant. When a child grows up, moving the person "
        "to an account of their own is one update, and their history goes along.",
    ),
    (
        "Is a certificate a property of the person or a row of its own?",
        "A row of its own: what kind, when it was earned, who checked it, until when it holds. A flag on the person "
        "looks simpler, but the first question will be who set it, and the second how many expire next month. The "
        "page needs only the newest valid one of each kind, which a view or a small query gives.",
    ),
    (
        "What happens to a booking when the certificate runs out before the day?",
        "Say it when they book: “Your belay certificate ends on the 4th; this slot is on the 9th.” Let them book "
        "all the same and show what to do, because the check takes five minutes at the desk. On the morning of the "
        "day the list marks the booking, so that the desk knows before the person stands there. Never cancel it "
        "silently.",
    ),
    (
        "Prices: adults, students, children, and a ten-visit card. Where does that live?",
        "In a price list with a date from which it holds, not in the code. A booking copies the price it was made "
        "with, in cents, together with the name of the tariff; a later change of the list then changes no old bill. "
        "The ten-visit card is a balance with movements: plus ten when it is bought, minus one when somebody "
        "arrives, plus one when a visit is cancelled in time. The balance is the sum of the movements and is never "
        "stored on its own, or the two will disagree one day.",
    ),
    (
        "And if two people use the same card at the same minute?",
        "Make the movement conditional in one statement: insert a minus one only while the sum is above zero, in "
        "the same transaction that marks the arrival. With SQLite a write transaction that begins immediately is "
        "enough, since there is one writer. The second person then reads “This card is used up” and can pay for "
        "the visit at the desk.",
    ),
    (
        "We close for two weeks in summer. How do I take those days out?",
        "Store closures as ranges with a reason that people can read. The function that lists slots takes the "
        "weekly pattern, removes what lies in a closure and adds single openings. Bookings that exist already are "
        "not touched by it; show them to you in a list, with a button that writes to the people and frees the "
        "slots. Do it that way round, because the range is often entered before the letter is ready.",
    ),
    (
        "I would like a small statistic: how full were we, by weekday and hour?",
        "Count arrivals and not bookings, by weekday and hour, over the last eight weeks, and divide by what was "
        "open, for a closed Friday is not an empty one. Draw it as a grid of seven columns with one shade for each "
        "tenth, and write the number into the cell so that nobody has to guess the colour. The query is one group "
        "by; run it when somebody looks, it is a few thousand rows.",
    ),
    (
        "How long may I keep the names for that?",
        "The statistic needs no names at all. Keep them as long as the bill needs them, and let a nightly job "
        "replace the person of older bookings by nothing, while date, hour and tariff stay. Write the period into "
        "the page where people register, in one sentence, and let the job log how many rows it touched.",
    ),
    (
        "Fine. The last thing before the break: who may see which member's data?",
        "Three roles are enough. The desk sees today and tomorrow with names and certificates. Trainers see the "
        "people of their own courses. You see everything, and every look at a person's page outside one's own "
        "courses leaves a line in a log that the person can ask for. Put the rule into one function that returns "
        "what somebody may see, and let every page begin with it.",
    ),
    (
        "Good. Let me write that down and come back with questions.",
        "Do that. If I had to choose one thing to get right first, it would be the table of offers with its "
        "deadlines: everything else can be repaired later without anybody noticing.",
    ),
]
