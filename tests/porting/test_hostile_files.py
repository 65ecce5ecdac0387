"""Any file is imported without its broken items, or refused with a sentence and without a change."""

from __future__ import annotations

import io
import json
import random
import struct
import tracemalloc
import warnings
import zipfile
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chat.actions import importing
from chat.errors import BadFile, Refused
from chat.models import App, Conversation, Deletion, Fact, Message, OwnerSettings

from .conftest import SAMPLES, as_json
from .sample_data import create_sample_data

pytestmark = pytest.mark.django_db
# A test writes each example to the same file.
per_example = settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
TABLES = (App, Conversation, Deletion, Fact, Message, OwnerSettings)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.sampled_from(
    [
        "\ud800",
        "\x00",
        "9" * 400,
        "0001-01-01T00:00:00Z",
        "9999-12-31T23:59:59Z",
        "2026-02-30",
        "a" * 500,
        "../../x",
    ]
)
scalars = (
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from([2**31, -(2**63), 2**64, 10**400])
    | st.floats(allow_nan=False, allow_infinity=False) | texts
)  # fmt: skip
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def samples() -> dict[str, Any]:
    """A valid file of each program."""
    names = ("chatgpt", "claude", "mem0")
    return {name: json.loads((SAMPLES / f"{name}.json").read_text(encoding="utf-8")) for name in names}


@pytest.fixture
def own(owner, other) -> Any:
    """A valid export, of another owner."""
    create_sample_data(other, messages=12, in_a_chat=6)
    return as_json(other)


def list_places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all values in a JSON value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for name, item in inside for place in list_places(item, (*path, name)))]


def replace(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """Return a copy of a JSON value with another value at a path."""
    if not path:
        return new
    step, *rest = path
    if isinstance(value, dict):
        return {
            name: replace(item, tuple(rest), new) if name == step else item for name, item in value.items()
        }
    return [replace(item, tuple(rest), new) if number == step else item for number, item in enumerate(value)]


def count_rows() -> list[int]:
    return [table.objects.count() for table in TABLES]


def import_or_refuse(owner, path) -> bool:
    """Import a file if its dry run can be done; return whether it was imported.

    Every refusal has a sentence and changes nothing.
    """
    before = count_rows()
    try:
        importing.dry_run(owner, path)
        assert count_rows() == before
        importing.import_file(owner, path)
    except (BadFile, Refused) as fault:
        sentence = str(fault)
    else:
        return True
    assert sentence.endswith((".", "!"))
    assert count_rows() == before
    return False


@pytest.mark.parametrize("name", ["chatgpt", "claude", "mem0"])
def test_any_value_at_any_place_of_another_programs_file(owner, file, samples, name):
    places = list_places(samples[name])

    @per_example
    @given(place=st.sampled_from(places), new=anything)
    def check(place, new):
        import_or_refuse(owner, file(replace(samples[name], place, new)))

    check()


def test_any_value_at_any_place_of_an_own_export(owner, file, own):
    # The places of each kind once: those of the first row stand for all rows.
    places = [
        place for place in list_places(own) if all(step in (0, 1) for step in place if isinstance(step, int))
    ]

    @per_example
    @given(place=st.sampled_from(places), new=anything)
    def check(place, new):
        import_or_refuse(owner, file(replace(own, place, new)))

    check()


@per_example
@given(value=anything)
def test_any_json_value_as_a_whole_file(owner, file, value):
    assert not import_or_refuse(owner, file(value))


@per_example
@given(data=st.data())
def test_a_file_that_is_cut_or_damaged_anywhere(owner, file, samples, data):
    content = bytearray(json.dumps(samples[data.draw(st.sampled_from(sorted(samples)))]).encode())
    for place in data.draw(st.lists(st.integers(0, len(content) - 1), max_size=3)):
        content[place] = data.draw(st.integers(0, 255))
    import_or_refuse(owner, file(bytes(content[: data.draw(st.integers(0, len(content)))])))


@pytest.mark.parametrize(
    "encoding", ["utf-16", "utf-16-le", "utf-32", "utf-7", "cp500", "utf-8-sig", "latin1"]
)
def test_a_file_in_another_encoding(owner, file, samples, encoding):
    text = json.dumps(samples["claude"], ensure_ascii=False).replace("poem", "pöem")
    assert import_or_refuse(owner, file(text.encode(encoding, "replace"))) == (
        encoding in ("utf-8-sig", "utf-7")
    )


@pytest.mark.parametrize("program", ["chatgpt", "claude", "mem0"])
def test_a_value_that_is_nested_as_deeply_as_the_reader_takes(owner, file, program):
    for levels in range(780, 960, 2):
        with suppress(BadFile):
            importing.dry_run(owner, file(build_deep_file(program, levels)))
    assert not Conversation.objects.exists()


def build_deep_file(program: str, levels: int) -> bytes:
    """Return a file whose names and ids are lists of so many levels."""
    deep = "[" * levels + "]" * levels
    content = {
        "chatgpt": f'[{{"mapping": {{}}, "id": "a", "title": {deep}}}, {{"mapping": {{}}, "id": {deep}}}]',
        "claude": f'[{{"uuid": {deep}, "created_at": "2026-01-01", "chat_messages": [], "name": {deep}}}]',
        "mem0": f'[{{"id": {deep}, "memory": "Likes tea", "user_id": {deep}}}]',
    }[program]
    return content.encode()


def build_archive(**members: bytes) -> bytearray:
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        warnings.simplefilter("ignore")
        for name, content in members.items():
            for one in name.split("|"):
                archive.writestr(one, content)
    return bytearray(buffer.getvalue())


class TestArchives:
    @pytest.mark.parametrize(
        "names",
        [
            *(
                "../conversations.json",
                "/etc/conversations.json",
                "C:\\conversations.json|conversations.json",
            ),
            *("conversations.json|conversations.json", "a/../../conversations.json", "conversations.json/"),
            *("\u202egnosj/conversations.json", "a" * 3000 + "/conversations.json", "con\nversations.json"),
        ],
    )
    def test_a_hostile_name_leads_out_of_no_folder(self, owner, file, samples, names, tmp_path):
        before = sorted(tmp_path.parent.rglob("*"))
        path = file(bytes(build_archive(**{names: json.dumps(samples["claude"]).encode()})))
        import_or_refuse(owner, path)
        assert set(tmp_path.parent.rglob("*")) - set(before) <= {path}

    def test_an_encrypted_member_is_refused(self, owner, file, samples):
        content = build_archive(**{"conversations.json": json.dumps(samples["claude"]).encode()})
        central = content.index(b"PK\x01\x02")
        # The flag of encryption, in both headers.
        content[6] |= 1
        content[central + 8] |= 1
        with pytest.raises(BadFile, match="archive"):
            importing.import_file(owner, file(bytes(content)))

    def test_one_part_of_an_archive_of_several_is_refused(self, owner, file, samples):
        content = build_archive(**{"conversations.json": json.dumps(samples["claude"]).encode()})
        end = content.index(b"PK\x05\x06")
        # The locator of a large archive, which names a second disk.
        content[end:end] = struct.pack("<4sLQL", b"PK\x06\x07", 1, 0, 2)
        with pytest.raises(BadFile, match="archive"):
            importing.import_file(owner, file(bytes(content)))

    def test_an_archive_of_archives_is_no_archive_with_conversations(self, owner, file):
        inner = bytes(build_archive(**{"conversations.json": b"[" + b" " * (1 << 20) + b"]"}))
        with pytest.raises(BadFile):
            importing.import_file(owner, file(bytes(build_archive(**{"conversations.zip": inner}))))

    @settings(per_example, max_examples=40)
    @given(seed=st.integers(0, 2**32), changes=st.integers(1, 6), cut=st.integers(0, 400) | st.just(0))
    @pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA])
    def test_a_damaged_archive(self, owner, file, samples, compression, seed, changes, cut):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", compression) as archive:
            archive.writestr("conversations.json", json.dumps(samples["mem0"]["results"][:1]))
            archive.writestr("süß/conversations-1.json", json.dumps(samples["mem0"]["results"][1:2]))
        content = bytearray(buffer.getvalue())
        chance = random.Random(seed)
        # Mostly in the headers: damaged data is found by its checksum.
        headers = [
            n
            for mark in (b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06")
            for n in range(content.rindex(mark), content.rindex(mark) + 30)
        ]
        for _ in range(changes):
            place = chance.choice(headers) if chance.random() < 0.8 else chance.randrange(len(content))
            content[place % len(content)] = chance.choice((0, 1, 8, 255, chance.randrange(256)))
        import_or_refuse(owner, file(bytes(content[: len(content) - cut])))

    @pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
    def test_a_bomb_is_refused_in_little_memory(self, owner, file, compression):
        buffer = io.BytesIO()
        with (
            zipfile.ZipFile(buffer, "w", compression) as archive,
            archive.open("conversations.json", "w") as member,
        ):
            for _ in range(64):
                member.write(b"[" * (1 << 20))
        path = file(buffer.getvalue())
        tracemalloc.start()
        try:
            with pytest.raises(BadFile):
                importing.import_file(owner, path)
            assert tracemalloc.get_traced_memory()[1] < 64 << 20
        finally:
            tracemalloc.stop()
