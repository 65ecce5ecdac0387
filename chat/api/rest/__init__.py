"""REST at `/api/`: one file a noun, each with a `router`, all of them added in `api`.

To plug in another noun, write `router = Router(tags=[...])` in a file of its own and add it in `api.py`:
`api.add_router("/search", search.router)`. Every operation is then behind `OwnerAuth`; its view finds the
owner in `request.auth`, may use the getters of `chat.views.scope`, raises `Problem`, `Refused` or `Http404`,
and is a plain function, so that the event loop never waits for it. By which problems an operation may end,
beyond those that follow from what it takes, is told with `openapi_extra=responses(409, …)`.
"""
