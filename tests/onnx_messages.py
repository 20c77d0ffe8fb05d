"""ONNX files byte by byte: messages with the name of a file of weights."""


def varint(value):
    parts = []
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes([*parts, value])


def field(number, content, padded=False):
    """A field with a length; a padded one has a length that is one byte longer than it needs to be."""
    length = varint(len(content))
    length = length[:-1] + bytes([length[-1] | 128, 0]) if padded else length
    return varint(number << 3 | 2) + length + content


def entry(name, padded=False, value_first=False):
    parts = [field(1, b"location", padded), field(2, name, padded)]
    return field(13, b"".join(parts[::-1] if value_first else parts))


def onnx_with_weights(name, **how):
    """An ONNX file that holds one tensor, whose values are in another file."""
    return b"\x08\x0a" + field(7, field(5, entry(name, **how)))
