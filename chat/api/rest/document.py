"""Completes the OpenAPI document: by which problems each operation may end."""

from __future__ import annotations

from typing import Any

from django.utils import translation

from chat.api.problems import KINDS, MEDIA_TYPE, ProblemDocument, kind_of

_REFERENCE = "#/components/schemas/{model}"


def document(drawn: Any) -> dict[str, Any]:
    """Return a document of ninja's with the problems of each operation, in English whoever asks first."""
    found: dict[str, Any] = dict(drawn)
    schema = ProblemDocument.model_json_schema(ref_template=_REFERENCE)
    found["components"]["schemas"].update(schema.pop("$defs"))
    found["components"]["schemas"]["Problem"] = {**schema, "title": "Problem"}
    with translation.override("en"):
        for path in found["paths"].values():
            for operation in path.values():
                operation["responses"] = _responses(operation)
    return found


def _responses(operation: dict[str, Any]) -> dict[str, Any]:
    """Return an operation's answers: its own, then the problems that follow from what it takes."""
    own = operation["responses"]
    wanted = {401, 403} | {status for status, told in own.items() if not told}
    if any(parameter["in"] == "path" for parameter in operation["parameters"]):
        wanted.add(404)
    if any(parameter["in"] != "path" for parameter in operation["parameters"]):
        wanted.add(422)
    if "requestBody" in operation:
        wanted.update({400, 413, 415, 422})
    told = {status: answer for status, answer in own.items() if answer}
    told.update({status: _problem(status) for status in sorted(wanted)})
    return {str(status): answer for status, answer in told.items()}


def _problem(status: int) -> dict[str, Any]:
    title = str(KINDS[kind_of(status)][1])
    schema = {"$ref": _REFERENCE.format(model="Problem")}
    return {"description": title, "content": {MEDIA_TYPE: {"schema": schema}}}
