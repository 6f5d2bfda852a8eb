"""Links as lines of text."""

from __future__ import annotations

import pytest

from bitextfilter.errors import InputError
from bitextfilter.io.documents import link_line, read_links


def test_what_is_written_is_read() -> None:
    links = [((0,), (0, 1)), ((), (2,)), ((1, 2, 3), ())]
    lines = [link_line(*link, score) for link, score in zip(links, ("0.83", "", "-1"), strict=True)]
    assert lines == [b"[0]:[0,1]:0.83\n", b"[]:[2]:\n", b"[1,2,3]:[]:-1\n"]
    assert read_links(lines, "x") == links


def test_forms_of_others() -> None:
    text = [b"\xef\xbb\xbf[5]:[ 7, 6 ]\n", b"\n", b" [8] : [9]:0.5075\r\n", b"[10]:[]"]
    assert read_links(text, "x") == [((5,), (6, 7)), ((8,), (9,)), ((10,), ())]


@pytest.mark.parametrize("line", [b"0:0\n", b"[0]\n", b"[0]:[1,]\n", b"[-1]:[0]\n", b"[0]:[a]\n"])
def test_what_is_no_link(line: bytes) -> None:
    with pytest.raises(InputError) as caught:
        read_links([b"[0]:[0]\n", line], "gold.links")
    assert str(caught.value).startswith("gold.links:2: no link: ")
    assert "[0]:[0,1]" in str(caught.value)
