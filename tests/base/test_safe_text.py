"""URLs in messages, reports and reprs hold no secret."""

import pytest

from mediakit.safe_text import shown_url, with_shown_urls


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://ann:pass@word@host:8443/a/b.mp4", "https://host:8443/a/b.mp4"),
        ("https://host/a.mp4?X-Amz-Signature=abc", "https://host/a.mp4?…"),
        ("https://host/a.mp4#token=abc", "https://host/a.mp4?…"),
        ("https://host?token=abc", "https://host?…"),
        ("//ann:word@host/a", "//host/a"),
        ("https://host/a@b/c.mp4", "https://host/a@b/c.mp4"),
        ("postgresql://ann:word@host/history", "postgresql://host/history"),
        ("a kite?", "a kite?"),
        ("", ""),
    ],
)
def test_a_shown_url_has_no_user_password_query_or_fragment(
    url: str, shown: str
) -> None:
    assert shown_url(url) == shown


def test_urls_inside_a_text_are_shown_without_secrets() -> None:
    text = "['https://ann:word@h/a?sig=1', 'b'] and HTTPS://h/c?sig=2 failed."

    assert with_shown_urls(text) == "['https://h/a?…', 'b'] and HTTPS://h/c?… failed."
