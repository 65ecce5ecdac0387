"""A sample conversation of about 1,500 tokens for benchmarks: eight exchanges about one project."""

TALK: list[tuple[str, str]] = [
    (
        "I'm rewriting the booking page of a small climbing gym. It is a Flask app with server-rendered "
        "templates, and people complain that the calendar jumps when a slot is taken while they look at it.",
        "That jump usually comes from replacing the whole calendar when one slot changes. Give every slot a stable "
        "id, send only the slot that changed, and swap that element in place. Keep the cell's height fixed so that "
        "a longer label, such as “fully booked”, cannot push the row. If two people press at once, let the server "
        "decide and answer the loser with the slot's new state instead of an error page.",
    ),
    (
        "The loser currently sees a 500. What should the handler do?",
        "Wrap the insert in a transaction and rely on a unique constraint over slot and date. When the insert "
        "fails, catch the integrity error, read the slot again and render its cell with status 409 and one plain "
        "sentence: “Someone was faster; here is what is still free.” The browser swaps the cell like any other.\n\n"
        "Three details make it pleasant. First, look for the reason before you blame the race: a member who has "
        "booked the same slot twice in two tabs should read “You have this slot already”, not that somebody was "
        "faster. Second, offer the next step inside the sentence, as links to the two nearest free times, for the "
        "person wanted to climb and not to learn about constraints. Third, log the conflict with the slot and the "
        "hour but without the names; after a month you will see whether Friday evenings need a second wall or a "
        "longer opening, and that is worth more than the code. Keep the handler itself free of such thoughts: it "
        "validates, calls one function that books or says why not, and renders the cell.",
    ),
    (
        "Would you poll or use server-sent events for the updates? There are maybe forty people online at peak.",
        "With forty people both work. Server-sent events are one connection a tab and arrive within a moment; "
        "polling every fifteen seconds is three requests a second and needs nothing new on the server. Since your "
        "app runs on a synchronous worker pool, forty open streams would occupy forty workers, so I would poll "
        "first, with an ETag so that most answers are an empty 304, and move to streams only when someone misses "
        "a slot because of the delay.",
    ),
    (
        "Fine, polling. How do I make the ETag cheap?",
        "Keep a counter for each day that increases whenever a booking of that day is made, moved or cancelled, in "
        "the same transaction. The ETag is the date and the counter. Comparing it costs one indexed read, and you "
        "never render the calendar to find out that nothing has changed.\n\n"
        "Put the counter into a small table of its own with the date as its key and increase it with an upsert, so "
        "that a day which nobody has touched needs no row. Do not use the time of the last change instead: two "
        "changes within one tick of the clock would share it, and the second one would stay invisible until the "
        "third. The same counter answers a second question for free. When a browser comes back after an hour in a "
        "pocket, it sends the counter that it knows; if the difference is small, you return the slots that changed "
        "since, else the whole day. Write down what the number means next to the column, because whoever finds it "
        "in two years will take it for a version of the schema.",
    ),
    (
        "Next: the waiting list. Somebody cancels at noon, the first in line should get it, but only if they react "
        "within twenty minutes.",
        "Treat the offer as a row of its own: who, which slot, offered at, expires at. A cancellation creates an "
        "offer for the first person in line; accepting it is a conditional update that succeeds only while it has "
        "not expired and the slot is still free. A small job looks every minute for expired offers and makes the "
        "next one. Nothing is lost when the process restarts, because the deadline is in the table.\n\n"
        "Be careful with the moment of expiry. A person who presses in the last second must not lose against the "
        "network, so accept for a few seconds after the time that you show, and let the job wait just as long "
        "before it makes the next offer. Never hold two offers for one slot. If the desk sells the slot to someone "
        "who stands there in person, the offer ends at once and the person in line is told so in a sentence. Send "
        "one message an offer, not a reminder every five minutes; people switch those off, and then the whole list "
        "stands still.",
    ),
    (
        "And what do I tell the people further down in the line?",
        "Tell them their place and what it means: “You are third. Today two of three offers were taken within ten "
        "minutes.” Update it when it changes, never with a countdown that runs in their browser alone. If the slot "
        "is gone for good, say so at once and suggest the two nearest free times.",
    ),
    (
        "The owner wants a printed list for the front desk every morning at seven.",
        "Render the same template with a print style sheet: black on white, one line a booking, the time first, a "
        "box to tick. Let a timer call a command that writes the page to a file and sends it to the printer, and "
        "let the command say clearly when the printer does not answer, for nobody reads a log at seven.",
    ),
    (
        "Do I need tests for the print page?",
        "One is enough: build a day with a full slot, an empty one and a cancelled one, render the page and check "
        "that the names appear in order and the cancelled one does not. Layout is better checked by eye, once, on "
        "paper, with the longest name you have.",
    ),
]

NEXT = [
    "The gym also has a shop with chalk and shoes. Should the stock live in the same database?",
    "Which of these pieces would you build first if I only had two evenings?",
    "How should the page behave on a phone with a bad connection in the basement?",
    "My colleague wants to store the member's climbing grade too. Any concerns?",
    "What would you put into the readme for whoever takes this over from me?",
    "How would you explain the waiting list to a member in two sentences?",
    "One more thing: can the calendar start on Monday for some people and on Sunday for others?",
    "What is the simplest backup that I can trust?",
]

LONG = (
    "Let me tell you how our week looks, because it explains why I need the calendar. On Mondays the gym opens at "
    "nine and the school classes arrive at ten; I stand at the desk until one and then I teach the beginners. "
    "Tuesdays are quiet, so I repair holds and write the newsletter. On Wednesdays my sister Ingrid covers the desk "
    "because I take the train to Aarhus, where I study sports physiology in the evening. Thursdays are for route "
    "setting with two freelancers; we drill from noon to eight. On Fridays the youth team trains and parents wait "
    "in the café, which is when most bookings for the weekend are made. Saturdays and Sundays are full from ten to "
    "six. I have a bad left shoulder, so I cannot belay for more than an hour. I would like to finish the booking "
    "page before the first of February, since that is when the new members' price starts. I prefer to work in the "
    "morning with strong tea and no music. We use a laptop from 2019 at the desk and two old tablets."
)

FACTS = [
    ("User's name is Solveig", "identity", "name"),
    ("User lives in Odense", "identity", "home"),
    ("User is rewriting the booking page of a climbing gym", "project", "building"),
    ("User works with Flask and SQLite", "project", "tools"),
    ("User wants answers without preamble", "preference", "reply_style"),
    ("User prefers tea to coffee", "preference", "likes"),
]
