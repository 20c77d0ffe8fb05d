"""External weight files of ONNX models, for all encodings of their names."""

import time
from pathlib import Path

import pytest
from onnx_messages import entry, field, onnx_with_weights

from leakscope.core.errors import InputError
from leakscope.models.onnx_weights import weight_files


@pytest.fixture
def model(tmp_path):
    (tmp_path / "w").write_bytes(b"weights")
    return tmp_path / "model.onnx"


@pytest.mark.parametrize("how", [{}, {"padded": True}, {"value_first": True}])
def test_names_are_found_however_they_are_encoded(model, how):
    assert weight_files(model, onnx_with_weights(b"w", **how)) == [model.parent / "w"]


@pytest.mark.parametrize(
    "numbers", [(7, 5), (7, 15, 1), (7, 1, 5, 5), (7, 1, 5, 10), (7, 1, 5, 6, 5), (7, 1, 5, 11, 1, 5, 5), (25, 7, 5, 5)]
)
def test_names_are_found_in_constants_subgraphs_and_functions(model, numbers):
    content = entry(b"w")
    for number in numbers[::-1]:
        content = field(number, content)
    assert weight_files(model, content) == [model.parent / "w"]


@pytest.mark.parametrize("name", [b"/proc/kmsg", b"../w", b"a/../../w", b"missing", b"", b".", b"a\0b", b"x" * 5000])
def test_other_places_are_refused_without_being_read(model, name):
    with pytest.raises(InputError) as error:
        weight_files(model, onnx_with_weights(name))
    assert len(str(error.value)) < 300


@pytest.mark.parametrize("content", [b"location", b"\xff" * 20 + b"location", onnx_with_weights(b"w")[:-1]])
def test_a_damaged_file_is_refused(model, content):
    with pytest.raises(InputError, match="ONNX"):
        weight_files(model, content)


def test_a_column_of_this_name_is_not_a_file():
    assert weight_files(Path("model.onnx"), field(7, field(11, field(1, b"location")))) == []


def test_large_trees_are_passed_over():
    """A tree ensemble has one field per number; only messages with the key are parsed."""
    node = field(1, field(5, b"\x40\x01" * 10_000))
    content = field(7, field(11, b"location") + node * 1_000)
    start = time.monotonic()
    assert weight_files(Path("model.onnx"), content) == []
    assert time.monotonic() - start < 1
