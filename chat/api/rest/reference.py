"""Completes ninja's OpenAPI document, and prepares it for the reference page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.utils import translation
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from chat.api.problems import KINDS, MEDIA_TYPE, ProblemDocument, kind_of

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class FieldDoc:
    """A parameter or a member with its type in words; `where` is "" for a member of an object."""

    name: str
    type: str
    note: SafeString
    required: bool
    where: str = ""


@dataclass(frozen=True, slots=True)
class ResponseDoc:
    """One response of an operation; `shape` names the object in it, if any."""

    status: str
    note: str
    shape: str


@dataclass(frozen=True, slots=True)
class OperationDoc:
    """One operation; `line` is the first line of its description, `more` the rest."""

    name: str
    method: str
    path: str
    line: SafeString
    more: SafeString
    takes: list[FieldDoc]
    answers: list[ResponseDoc]
    problems: list[ResponseDoc]


@dataclass(frozen=True, slots=True)
class ObjectDoc:
    """An object in responses."""

    name: str
    note: SafeString
    fields: list[FieldDoc]


class Reference:
    """The reference page's view of an OpenAPI document."""

    def __init__(self, build_document: Json) -> None:
        self.document = build_document
        self.schemas: Json = build_document["components"]["schemas"]

    def sections(self) -> dict[str, list[OperationDoc]]:
        """Return the operations by tag, both in the order of the document."""
        found: dict[str, list[OperationDoc]] = {}
        for path, methods in self.document["paths"].items():
            for method, spec in methods.items():
                found.setdefault(spec["tags"][0], []).append(self._operation(path, method, spec))
        return found

    def list_objects(self) -> list[ObjectDoc]:
        """Return the objects in responses, by name."""
        return [
            ObjectDoc(name, _format_note(schema.get("description", "")), self._members(schema))
            for name, schema in sorted(self.schemas.items())
            if "properties" in schema and not name.startswith("Page_") and not name.endswith(("In", "Patch"))
        ]

    def describe_type(self, schema: Json) -> str:
        """Return the type that a schema describes, in words."""
        if name := _schema_name(schema):
            return (
                self.describe_type(self.schemas[name])
                if "enum" in self.schemas[name]
                else _describe_schema_name(name)
            )
        if options := schema.get("anyOf") or schema.get("oneOf"):
            return " or ".join(self.describe_type(option) for option in options)
        if "enum" in schema:
            return ", ".join(f"“{value}”" for value in schema["enum"])
        if "const" in schema:
            return f"“{schema['const']}”"
        kind = str(schema.get("type", "anything"))
        if kind == "array":
            return f"list of {self.describe_type(schema.get('items', {}))}"
        return _describe_limits(str(schema.get("format", "text")) if kind == "string" else kind, schema)

    def _operation(self, path: str, method: str, spec: Json) -> OperationDoc:
        answers = [self._answer(status, answer) for status, answer in spec["responses"].items()]
        body = _content_schema(spec.get("requestBody", {}))
        line, _, more = str(spec.get("description", spec["summary"])).partition("\n")
        return OperationDoc(
            name=spec["operationId"],
            method=method.upper(),
            path=path,
            line=_format_note(line),
            more=_format_note(more),
            takes=[
                *(self._parameter(given) for given in spec["parameters"]),
                *self._members(self.schemas[_schema_name(body)] if _schema_name(body) else body),
            ],
            answers=[answer for answer in answers if answer.status < "3"],
            problems=[answer for answer in answers if answer.status >= "3"],
        )

    def _parameter(self, given: Json) -> FieldDoc:
        note = _format_note(given.get("description", ""))
        return FieldDoc(
            given["name"], self.describe_type(given["schema"]), note, given["required"], given["in"]
        )

    def _members(self, schema: Json) -> list[FieldDoc]:
        required = schema.get("required", [])
        return [
            FieldDoc(
                name,
                self.describe_type(member),
                _format_note(member.get("description", "")),
                name in required,
            )
            for name, member in schema.get("properties", {}).items()
        ]

    def _answer(self, status: str, answer: Json) -> ResponseDoc:
        schema = _content_schema(answer)
        return ResponseDoc(status, answer["description"], self.describe_type(schema) if schema else "")


def _content_schema(spec: Json) -> Json:
    content: Json = spec.get("content", {})
    return next((dict(media["schema"]) for media in content.values()), {})


def _schema_name(schema: Json) -> str:
    return str(schema.get("$ref", "")).rpartition("/")[2]


def _describe_schema_name(name: str) -> str:
    return f"page of {name.removeprefix('Page_').rstrip('_')}" if name.startswith("Page_") else name


def _describe_limits(kind: str, schema: Json) -> str:
    if "minimum" in schema and "maximum" in schema:
        return f"{kind} from {schema['minimum']:,} to {schema['maximum']:,}"
    return f"{kind} of at most {schema['maxLength']:,} characters" if "maxLength" in schema else kind


def _format_note(text: str) -> SafeString:
    """Return text in one line as HTML, with the parts between backticks as code."""
    pieces = enumerate(" ".join(text.split()).split("`"))
    shown = ((format_html("<code>{}</code>", piece) if n % 2 else piece,) for n, piece in pieces)
    return format_html_join("", "{}", shown)


_REFERENCE = "#/components/schemas/{model}"


def build_document(schema: Any) -> dict[str, Any]:
    """Return ninja's document with the problems of each operation, always in English."""
    found: dict[str, Any] = dict(schema)
    schema = ProblemDocument.model_json_schema(ref_template=_REFERENCE)
    found["components"]["schemas"].update(schema.pop("$defs"))
    found["components"]["schemas"]["Problem"] = {**schema, "title": "Problem"}
    with translation.override("en"):
        for path in found["paths"].values():
            for operation in path.values():
                operation["responses"] = _responses(operation)
    return found


def _responses(operation: dict[str, Any]) -> dict[str, Any]:
    """Return the responses of an operation: its own, then the problems that follow from its parameters."""
    own = operation["responses"]
    wanted = {401, 403} | {status for status, spec in own.items() if not spec}
    if any(parameter["in"] == "path" for parameter in operation["parameters"]):
        wanted.add(404)
    if any(parameter["in"] != "path" for parameter in operation["parameters"]):
        wanted.add(422)
    if "requestBody" in operation:
        wanted.update({400, 413, 415, 422})
    spec = {status: answer for status, answer in own.items() if answer}
    spec.update({status: _problem(status) for status in sorted(wanted)})
    return {str(status): answer for status, answer in spec.items()}


def _problem(status: int) -> dict[str, Any]:
    title = str(KINDS[kind_of(status)][1])
    schema = {"$ref": _REFERENCE.format(model="Problem")}
    return {"description": title, "content": {MEDIA_TYPE: {"schema": schema}}}
