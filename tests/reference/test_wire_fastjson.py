"""fastjson's dialect: what Java writes is read and written alike, hostile text is refused, all in linear time."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairproof.reference.errors import CodecError
from pairproof.reference.wire import fastjson

LONGS = st.integers(-(2**63), 2**63 - 1)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
SCALARS = LONGS | TEXT | st.booleans() | st.floats(allow_nan=False, allow_infinity=False)
OBJECT_KEYS = st.dictionaries(TEXT, TEXT | LONGS, min_size=1, max_size=3).map(lambda key: tuple(sorted(key.items())))
VALUES = st.recursive(
    SCALARS | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(LONGS | TEXT | OBJECT_KEYS, inner.filter(lambda value: value is not None), max_size=3)
    ),
    max_leaves=12,
)


@given(VALUES, st.booleans())
def test_what_is_written_is_read(value: Any, pretty: bool) -> None:
    assert fastjson.loads(fastjson.dumps(value, pretty=pretty)) == value


@given(st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3)))
def test_plain_json_is_read_and_written_as_everyone_does(value: Any) -> None:
    assert fastjson.loads(json.dumps(value)) == value
    assert fastjson.loads(json.dumps(value, indent=2, ensure_ascii=False)) == value
    assert json.loads(fastjson.dumps(value)) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{0:5,-2:7}", {0: 5, -2: 7}),
        ('{"T@G":{0:26,1:12\n\t\t}}', {"T@G": {0: 26, 1: 12}}),
        ('{{"topic":"t","queueId":0}:{"maxOffset":1}}', {(("queueId", 0), ("topic", "t")): {"maxOffset": 1}}),
        ("{'a':'it\\'s \"so\"'}", {"a": 'it\'s "so"'}),
        ("{name_1:true}", {"name_1": True}),
        ("{null:null,true:false}", {"null": None, "true": False}),
        (' \t[ 1 , "\\u00e4\\ud83d\\ude00" ] \n', [1, "ä😀"]),
        ('{"a":1,"a":2}', {"a": 2}),
        ('"tab\tas it is"', "tab\tas it is"),
        ("7.4", 7.4),
        ("1.0E10", 1e10),
        ("{}", {}),
        ("[]", []),
    ],
)
def test_reads_what_java_writes_and_takes(text: str, value: Any) -> None:
    found = fastjson.loads(text)
    assert found == value and type(found) is type(value)
    assert fastjson.loads(text.encode()) == value


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "{", "[", "[1", "[1,", "{1", "{1:", "{1:2", "{1:2,", '{"a"', '"a', "'a", "'a\\'"),
        *("{}x", "[1]]", "1 2", "{1:2}}", '{"a":1}{"a":1}'),
        *("[1,]", "[,1]", "{1:2,}", "{,}", "{1 2}", "[1 2]", "{1=2}"),
        *("nul", "True", "NaN", "Infinity", "-", "+1", ".5", "1.", "1e", "0x1", "1L", "//", "new Date(1)"),
        *('"\\x"', '"\\u12"', "'\\q'", "{[1]:2}", "{1.5:2}", '{{"a":[1]}:2}', "{{1:2}:3}", '{{{"a":1}:1}:3}'),
        *(str(2**63), str(-(2**63) - 1), "9" * 10_000, "1e999"),
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(CodecError):
        fastjson.loads(text)


def test_refusal_names_the_place() -> None:
    with pytest.raises(CodecError, match=r"body at 9: a value expected, not 'oops\]}'"):
        fastjson.loads('{"a":[12,oops]}')


def test_depth_is_bounded_on_both_sides() -> None:
    deepest = fastjson.MAX_DEPTH
    assert fastjson.loads("[" * deepest + "]" * deepest)
    for opening, closing in (("[", "]"), ("{1:", "}"), ("{", ":1}"), ('[{"a":', "}]")):
        with pytest.raises(CodecError, match="nested deeper"):
            fastjson.loads(opening * (deepest + 1) + "1" + closing * (deepest + 1))


@pytest.mark.parametrize(
    "unit", ["[", "{", "{1:", "9", '"', "'", "\\", "'\\", '"\\', " ", "1,", "1.", "1e", "a", "\ud83d"]
)
@pytest.mark.parametrize("start", ["", '{"a":', '"', "'", "[", "{'a':'"])
def test_a_megabyte_of_nonsense_is_refused_without_a_search(start: str, unit: str) -> None:
    # Quadratic time would not end within the suite's own limit.
    with pytest.raises(CodecError):
        fastjson.loads(start + unit * (1_000_001 // len(unit)))


def test_bytes_that_are_no_utf8_are_refused() -> None:
    with pytest.raises(CodecError, match="UTF-8"):
        fastjson.loads(b'{"a":"\xff"}')


@given(st.text(st.sampled_from("{}[]:,'\"\\ae01-.tnu \n"), max_size=20))
def test_no_text_raises_anything_but_codec_error(text: str) -> None:
    try:
        fastjson.loads(text)
    except CodecError:
        pass


def test_pretty_form_is_that_of_the_config_files() -> None:
    value = {"offsetTable": {"t@g": {0: 26, 1: 12}, "u@g": {}}, "list": [1, {"a": "b"}], "none": []}
    assert fastjson.dumps(value, pretty=True) == (
        b'{\n\t"offsetTable":{\n\t\t"t@g":{0:26,1:12\n\t\t},\n\t\t"u@g":{}\n\t},\n\t"list":['
        b'\n\t\t1,\n\t\t{\n\t\t\t"a":"b"\n\t\t}\n\t],\n\t"none":[]\n}'
    )


def test_standard_form_quotes_integer_keys() -> None:
    value = {"brokerAddrs": {0: "h:1", 2: "h:2"}}
    assert fastjson.dumps(value) == b'{"brokerAddrs":{0:"h:1",2:"h:2"}}'
    assert fastjson.dumps(value, standard=True) == b'{"brokerAddrs":{"0":"h:1","2":"h:2"}}'


def test_nulls_are_left_out_of_objects_only() -> None:
    assert fastjson.dumps({"a": None, "b": [None], "c": 1}) == b'{"b":[null],"c":1}'


def test_texts_are_escaped_as_java_escapes_them() -> None:
    assert fastjson.dumps('"\\/\n\t\x01\x7f\x0bä😀\u2028\ud83d') == (
        '"\\"\\\\/\\n\\t\\u0001\\u007F\\u000Bä😀\\u2028?"'.encode()
    )


@pytest.mark.parametrize("value", [math.nan, math.inf, b"bytes", {True: 1}, {1.5: 1}, {None: 1}, object()])
def test_what_has_no_place_in_json_is_not_written(value: Any) -> None:
    with pytest.raises(CodecError, match=r"JSON body"):
        fastjson.dumps(value)
