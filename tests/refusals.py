"""Wrong input, as Python users meet it."""

import pytest

from leakscope.core.errors import InputError


def check_refused(call, name):
    """Check that a call is refused in one sentence that holds a name: a regular expression."""
    with pytest.raises(InputError, match=name) as refused:
        call()
    message = str(refused.value)
    assert "\n" not in message
    assert len(message) < 250
