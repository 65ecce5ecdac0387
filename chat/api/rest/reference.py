"""The API's reference as a page needs it: sections of operations, from the OpenAPI document alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter or a member, its type in words; `where` is empty for a member of an object."""

    name: str
    type: str
    note: SafeString
    required: bool
    where: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """One way in which an operation may end; `shape` names the object that it tells, if any."""

    status: str
    note: str
    shape: str


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation with all that it takes and gives; `more` is what there is to say after the first line."""

    name: str
    method: str
    path: str
    line: SafeString
    more: SafeString
    takes: list[Field]
    answers: list[Answer]
    problems: list[Answer]


@dataclass(frozen=True, slots=True)
class Shape:
    """An object that operations give."""

    name: str
    note: SafeString
    fields: list[Field]


class Reference:
    """Reads an OpenAPI document."""

    def __init__(self, document: Json) -> None:
        self.document = document
        self.schemas: Json = document["components"]["schemas"]

    def sections(self) -> dict[str, list[Operation]]:
        """Return the operations by their tags, both in the document's order."""
        found: dict[str, list[Operation]] = {}
        for path, methods in self.document["paths"].items():
            for method, told in methods.items():
                found.setdefault(told["tags"][0], []).append(self._operation(path, method, told))
        return found

    def shapes(self) -> list[Shape]:
        """Return the objects that operations give, by name."""
        return [
            Shape(name, _marked(schema.get("description", "")), self._members(schema))
            for name, schema in sorted(self.schemas.items())
            if "properties" in schema and not name.startswith("Page_") and not name.endswith(("In", "Patch"))
        ]

    def type_of(self, schema: Json) -> str:
        """Return in words what a schema allows."""
        if name := _name(schema):
            return self.type_of(self.schemas[name]) if "enum" in self.schemas[name] else _readable(name)
        if options := schema.get("anyOf") or schema.get("oneOf"):
            return " or ".join(self.type_of(option) for option in options)
        if "enum" in schema:
            return ", ".join(f"“{value}”" for value in schema["enum"])
        if "const" in schema:
            return f"“{schema['const']}”"
        kind = str(schema.get("type", "anything"))
        if kind == "array":
            return f"list of {self.type_of(schema.get('items', {}))}"
        return _bounded(str(schema.get("format", "text")) if kind == "string" else kind, schema)

    def _operation(self, path: str, method: str, told: Json) -> Operation:
        answers = [self._answer(status, answer) for status, answer in told["responses"].items()]
        body = _content(told.get("requestBody", {}))
        line, _, more = str(told.get("description", told["summary"])).partition("\n")
        return Operation(
            name=told["operationId"],
            method=method.upper(),
            path=path,
            line=_marked(line),
            more=_marked(more),
            takes=[
                *(self._parameter(given) for given in told["parameters"]),
                *self._members(self.schemas[_name(body)] if _name(body) else body),
            ],
            answers=[answer for answer in answers if answer.status < "3"],
            problems=[answer for answer in answers if answer.status >= "3"],
        )

    def _parameter(self, given: Json) -> Field:
        note = _marked(given.get("description", ""))
        return Field(given["name"], self.type_of(given["schema"]), note, given["required"], given["in"])

    def _members(self, schema: Json) -> list[Field]:
        required = schema.get("required", [])
        return [
            Field(name, self.type_of(member), _marked(member.get("description", "")), name in required)
            for name, member in schema.get("properties", {}).items()
        ]

    def _answer(self, status: str, answer: Json) -> Answer:
        schema = _content(answer)
        return Answer(status, answer["description"], self.type_of(schema) if schema else "")


def _content(told: Json) -> Json:
    content: Json = told.get("content", {})
    return next((dict(media["schema"]) for media in content.values()), {})


def _name(schema: Json) -> str:
    return str(schema.get("$ref", "")).rpartition("/")[2]


def _readable(name: str) -> str:
    return f"page of {name.removeprefix('Page_').rstrip('_')}" if name.startswith("Page_") else name


def _bounded(kind: str, schema: Json) -> str:
    if "minimum" in schema and "maximum" in schema:
        return f"{kind} from {schema['minimum']:,} to {schema['maximum']:,}"
    return f"{kind} of at most {schema['maxLength']:,} characters" if "maxLength" in schema else kind


def _marked(text: str) -> SafeString:
    """Return a docstring's text in one line, what stands between backticks as code."""
    pieces = enumerate(" ".join(text.split()).split("`"))
    shown = ((format_html("<code>{}</code>", piece) if n % 2 else piece,) for n, piece in pieces)
    return format_html_join("", "{}", shown)
