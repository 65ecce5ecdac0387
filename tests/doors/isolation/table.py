"""Who may use which address: an entry for every request that the program answers.

An entry that names an object, such as `{conversation}`, is for the owner of this object; another user gets
404. An entry without one shows or changes only data of whoever asks. `test_table` compares the entries with
the URL table and fails for a route or a method that has none. The admin site needs no entry: everything
below `/admin/` is for staff (`test_admin_site`).
"""

from __future__ import annotations

from .entries import Entry, For, openai, page, rest
from .routes import METHODS

CHAT, READ_CHATS, READ_MEMORY, WRITE_MEMORY = {"chat"}, {"chats:read"}, {"memory:read"}, {"memory:write"}
READ_BOTH, WRITE_BOTH, MODEL, IMPORT = READ_CHATS | READ_MEMORY, CHAT | WRITE_MEMORY, {"model"}, {"import"}
ANY_TOKEN: set[str] = set()
HELLO = [{"role": "user", "content": "Hello"}]

PAGES: list[Entry] = [
    page("GET login/", For.EVERYBODY, bare=True),
    page("GET signup/", For.VISITORS, bare=True),
    page("POST signup/", For.VISITORS, incomplete=True),
    page("GET signup/waiting/", For.VISITORS, bare=True),
    # There is an admin, so no link for the first account is valid.
    page("GET first/used/", For.VISITORS, bare=True, over=True),
    page("POST first/used/", For.VISITORS, over=True),
    page("GET invite/{invitation_link}/", For.VISITORS, bare=True, lenient=True),
    page("POST invite/{invitation_link}/", For.VISITORS, incomplete=True, lenient=True),
    page("GET people/", For.ADMINS),
    page("POST people/{waiting}/", For.ADMINS, do="approve"),
    page("POST people/{waiting}/", For.ADMINS, do="refuse"),
    page("POST people/{member}/", For.ADMINS, do="deactivate"),
    page("POST people/{member}/", For.ADMINS, do="reactivate", incomplete=True),
    page("POST people/{member}/", For.ADMINS, do="make_admin"),
    page("POST people/{member}/", For.ADMINS, do="make_member"),
    page("POST people/invitations/", For.ADMINS, role="member", note="For a friend", end="7"),
    page("POST people/invitations/{invitation}/revoke/", For.ADMINS),
    page("GET "),
    page("GET ?app={app}"),
    page("GET search/?q=message"),
    page("GET c/{conversation}/"),
    page("GET c/{conversation}/?m={reply}"),
    page("GET c/{conversation}/after/0/"),
    page("GET c/{conversation}/menu/"),
    page("GET c/{conversation}/care/", bare=True),
    page("GET c/{conversation}/topics/"),
    page("GET c/{conversation}/rename/"),
    page("POST c/{conversation}/rename/", title="Renamed"),
    page("POST c/{conversation}/pin/"),
    page("POST c/{conversation}/delete/", memories="1"),
    page("POST c/{conversation}/move/", app="{app}"),
    page("POST c/{conversation}/flush/"),
    page("POST c/{conversation}/end/"),
    page("POST c/{conversation}/strategy/", strategy="simple"),
    page("POST c/{conversation}/memory/", mode="off"),
    page("POST c/{conversation}/past-chats/", past_chats="off"),
    page("POST topics/{topic}/importance/", importance="0.25"),
    page("GET apps/"),
    page("POST apps/", name="Recipes"),
    page("GET apps/{app}/"),
    page("POST apps/{app}/", persona="You are somebody else."),
    page("POST apps/{app}/archive/", purge="1"),
    page("POST apps/{app}/back/"),
    page("POST apps/{app}/clear/"),
    page("POST send/", text="Hello", replies=True),
    page("POST send/", text="Hello", conversation="{conversation}", replies=True),
    page("POST send/", text="Hello", app="{app}", replies=True),
    page("GET m/{reply}/"),
    page("POST m/{reply}/stop/"),
    page("POST m/{reply}/retry/", replies=True),
    page("GET m/{message}/edit/"),
    page("POST m/{message}/edit/", text="In other words", replies=True),
    page("POST m/{reply}/flag/", flagged="1"),
    page("GET m/{reply}/used/"),
    page("GET m/{reply}/quoted/"),
    page("GET m/{reply}/prompt/"),
    page("POST quotations/{quotation}/", relevant="no"),
    page("GET memory/"),
    page("GET memory/?found={fact}&open={fact}", lenient=True),
    page("GET memory/graph/?q=What tools do I use?"),
    page("GET memory/pill/", bare=True),
    page("GET memory/health/"),
    page(
        "GET memory/health/",
        headers={"hx-current-url": "http://testserver/c/{conversation}/"},
        lenient=True,
    ),
    page("POST memory/add/", text="I bake rye."),
    page("POST memory/highlight/", message="{reply}", text="Reply Quillowax"),
    page("POST memory/batch/", do="delete", fact="{fact}"),
    page("GET memory/clear/"),
    page("POST memory/clear/"),
    page("GET memory/archive/"),
    page("GET memory/heard-once/"),
    page("POST memory/undo/{deletion}/"),
    page("POST memory/which/{question}/", fact="{fact}"),
    page("POST memory/which/{question}/", all="1"),
    page("GET memory/app/{app_memory}/"),
    page("GET memory/app/{app_memory}/edit/"),
    page("POST memory/app/{app_memory}/edit/", text="Something else"),
    page("POST memory/app/{app_memory}/delete/"),
    page("GET memory/{fact}/"),
    page("GET memory/{fact}/edit/"),
    page("POST memory/{fact}/edit/", text="Something else"),
    page("POST memory/{fact}/pin/"),
    page("POST memory/{fact}/pin/", instead="{another_fact}"),
    page("POST memory/{fact}/delete/"),
    page("GET memory/{fact}/origin/"),
    page("POST memory/{fact}/restore/{event}/"),
    page("POST memory/{archived_fact}/back/"),
    page("POST old-chats/keep/"),
    page("GET model/", bare=True),
    page("GET settings/"),
    page("POST settings/", theme="dark"),
    page("POST settings/provider/", scopes=MODEL, do="use", url="http://example.com", incomplete=True),
    page("POST settings/erase/", For.BROWSER, word="delete", incomplete=True),
    page("POST settings/export/"),
    page("POST settings/import/", incomplete=True),
    page("GET settings/import/{upload}/"),
    page("POST settings/import/{upload}/", do="import", near="{fact}"),
    page("POST settings/import/{upload}/", do="cancel"),
    page("POST settings/tokens/", For.BROWSER, name="Script", incomplete=True),
    page("POST settings/tokens/{token}/narrow/", For.BROWSER, scope="memory:read"),
    page("POST settings/tokens/{token}/revoke/", For.BROWSER),
    page("GET api/", scopes=ANY_TOKEN, bare=True),
    page("GET api/docs", scopes=ANY_TOKEN),
    page("GET statistics/"),
    page("GET statistics/energy/", bare=True),
]

PROGRAMS: list[Entry] = [
    page("GET metrics", For.PROGRAMS, scopes=MODEL, bare=True),
    rest(ANY_TOKEN, "GET openapi.json", bare=True),
    rest(READ_CHATS, "GET conversations"),
    rest(READ_CHATS, "GET conversations?app={slug}", bare=True),
    rest(CHAT, "POST conversations", title="New"),
    rest(CHAT, "POST conversations", app="{slug}"),
    rest(None, "POST conversations/prune", days=1),
    rest(READ_CHATS, "GET conversations/{conversation}"),
    rest(CHAT, "PATCH conversations/{conversation}", title="Renamed"),
    rest(CHAT, "PATCH conversations/{conversation}", app="{slug}"),
    rest(CHAT, "DELETE conversations/{conversation}?memories=true"),
    rest(CHAT, "POST conversations/{conversation}/end"),
    rest(CHAT, "POST conversations/{conversation}/keep"),
    rest(CHAT, "POST conversations/{conversation}/clear"),
    rest(CHAT, "DELETE conversations/{conversation}/clear"),
    rest(READ_CHATS, "GET conversations/{conversation}/messages"),
    rest(CHAT, "POST conversations/{conversation}/messages", content="Hello", replies=True),
    rest(READ_CHATS, "GET conversations/{conversation}/messages/recent"),
    rest(READ_CHATS, "GET conversations/{conversation}/topics"),
    rest(READ_MEMORY, "GET conversations/{conversation}/extractions"),
    rest(READ_MEMORY, "GET conversations/{conversation}/requests"),
    rest(READ_CHATS, "GET messages/{message}"),
    rest(CHAT, "PATCH messages/{message}", flagged=True),
    rest(CHAT, "POST messages/{reply}/stop"),
    rest(CHAT, "POST messages/{reply}/retry", replies=True),
    rest(CHAT, "POST messages/{message}/resend", content="In other words", replies=True),
    rest(READ_MEMORY, "GET facts"),
    rest(WRITE_MEMORY, "POST facts", text="I bake rye."),
    rest(WRITE_MEMORY, "POST facts/clear"),
    rest(READ_MEMORY, "GET facts/{fact}"),
    rest(WRITE_MEMORY, "PATCH facts/{fact}", text="Something else"),
    rest(WRITE_MEMORY, "DELETE facts/{fact}"),
    rest(READ_MEMORY, "GET facts/{fact}/history"),
    rest(WRITE_MEMORY, "POST facts/{fact}/restore", event="{event}"),
    rest(WRITE_MEMORY, "POST facts/{archived_fact}/bring-back"),
    rest(READ_CHATS, "GET topics/{topic}"),
    rest(CHAT, "PATCH topics/{topic}", importance=0.25),
    rest(READ_MEMORY, "GET entities"),
    rest(READ_MEMORY, "GET entities/{entity}"),
    rest(READ_MEMORY, "GET graph?q=What tools do I use?"),
    rest(READ_MEMORY, "GET graph/edges"),
    rest(READ_CHATS, "GET apps"),
    rest(CHAT, "POST apps", name="Recipes"),
    rest(READ_CHATS, "GET apps/{slug}"),
    rest(READ_CHATS, "GET apps/{app}"),
    rest(CHAT, "PATCH apps/{slug}", persona="You are somebody else."),
    rest(CHAT, "POST apps/{slug}/archive", purge=True),
    rest(CHAT, "POST apps/{slug}/bring-back"),
    rest(READ_MEMORY, "GET apps/{slug}/memories"),
    rest(WRITE_MEMORY, "DELETE apps/{slug}/memories"),
    rest(READ_MEMORY, "GET apps/{slug}/memories/{app_memory}"),
    rest(WRITE_MEMORY, "PATCH apps/{slug}/memories/{app_memory}", content="Something else"),
    rest(WRITE_MEMORY, "DELETE apps/{slug}/memories/{app_memory}"),
    # A program must be able to undo its own deletion, of a chat or of a memory.
    rest(WRITE_BOTH, "GET deletions/{deletion}", either=True, bare=True),
    rest(WRITE_BOTH, "POST deletions/{deletion}/undo", either=True),
    rest(MODEL, "GET metrics", bare=True),
    rest(ANY_TOKEN, "GET settings", bare=True),
    rest(WRITE_BOTH, "PATCH settings", theme="dark"),
    rest(READ_BOTH, "GET search?q=message"),
    # Without an embedder nothing is recalled; `test_mcp_tools` has one.
    rest(READ_CHATS, "GET recall?question=What did I send?", bare=True),
    rest(READ_CHATS, "GET recall?question=What did I send?&app={slug}", bare=True),
    rest(READ_BOTH, "GET export"),
    rest(IMPORT, "POST import", incomplete=True),
    rest(WRITE_MEMORY, "POST extract", text="I bake rye."),
    openai("GET models", bare=True),
    openai("GET models/scripted", bare=True),
    openai("POST chat/completions", messages=[{"role": "user", "content": "Hello"}], replies=True),
    *(
        openai(
            "POST chat/completions", messages=[{"role": "user", "content": "Hello"}], replies=True, **named
        )
        for named in (
            {"headers": {"x-memoryapp-conversation": "{conversation}"}},
            {"metadata": {"conversation": "{conversation}"}},
            {"headers": {"x-memoryapp-app": "{slug}"}},
        )
    ),
]

# Routes that answer further methods. The login and the pages that make an account answer each by leading home
# who is logged in; they act for their caller only, as the logout does.
FURTHER_METHODS = {
    **{route: {*METHODS} for route in ("login/", "signup/", "first/<str:secret>/", "invite/<str:secret>/")},
    "logout/": {"POST", "OPTIONS"},
}
# For unknown addresses below these two, every method is answered alike: 401, or 404 with a token.
UNKNOWN_ADDRESSES = ["api/nothing", "v1/nothing"]

ENTRIES = PAGES + PROGRAMS

# Sockets by their route: the object that the query names, and the scopes that a token needs.
SOCKETS = {"ws/": ("conversation", {"chat", "chats:read", "memory:read"})}

# The tools of the MCP server: their arguments, and the scopes that a token needs (for undo_forget, one of
# them). A tool with an id refuses that of another user.
TOOLS: dict[str, tuple[dict[str, str], set[str]]] = {
    "search_memories": ({"query": "fact"}, READ_BOTH),
    "list_memories": ({}, READ_MEMORY),
    "recall_chats": ({"question": "What did I send?"}, READ_CHATS),
    "add_memory": ({"text": "I bake rye."}, WRITE_MEMORY),
    "forget_memory": ({"id": "{fact}"}, WRITE_MEMORY),
    "undo_forget": ({"undo_id": "{deletion}"}, WRITE_BOTH),
}
