"""Tables of calls that are refused, and what their messages say."""

import pytest


def refused(call, error, *words):
    """The call raises exactly this kind of error, and its message contains all the words."""
    with pytest.raises(error) as caught:
        call()
    assert type(caught.value) is error, f"a subclass came: {caught.value!r}"
    message = str(caught.value)
    missing = [word for word in words if word not in message]
    assert not missing, f"{missing} not in: {message}"


def table(rows):
    """Parameters of a test from rows (name, call, error, words of the message...)."""
    return pytest.mark.parametrize("call, error, words", [pytest.param(r[1], r[2], r[3:], id=r[0]) for r in rows])
