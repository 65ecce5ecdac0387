"""REST at `/api/`: one module a noun, each with a `router`, all of them added in `api.py`.

To add a noun, write `router = Router(tags=[...])` in a new module and add it in `api.py`:
`api.add_router("/search", search.router)`. `OwnerAuth` then authenticates every operation and puts the owner
into `request.auth`. Operations select rows through `chat.access` and raise `Problem`, `Refused` or `Http404`.
They are plain functions, which run in a thread and not in the event loop. Problems that do not follow from
an operation's parameters are documented with `openapi_extra=problem_responses(409, …)`.
"""
