from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mediakit.widgets.card_handle import CardHandle, current_cell, publish
from tests.kernels import run_cells


@dataclass
class Outputs:
    """Keeps what a handle sends, as a notebook would."""

    sent: list[tuple[Mapping[str, str], str, bool]] = field(default_factory=list)

    def __call__(
        self, data: Mapping[str, str], *, transient: Mapping[str, str], update: bool
    ) -> None:
        self.sent.append((data, transient["display_id"], update))

    @property
    def html(self) -> str:
        return self.sent[-1][0]["text/html"]

    @property
    def text(self) -> str:
        return self.sent[-1][0]["text/plain"]


@dataclass
class View:
    """Something with a card that can change."""

    name: str
    listeners: list[Callable[[], None]] = field(default_factory=list)

    @property
    def card_html(self) -> str:
        return f"<p>{self.name}</p>"

    @property
    def card_text(self) -> str:
        return self.name

    def on_card(self, listener: Callable[[], None]) -> Callable[[], None]:
        self.listeners.append(listener)
        return lambda: self.listeners.remove(listener)

    def change(self, name: str) -> None:
        self.name = name
        for listener in self.listeners:
            listener()


def test_a_handle_is_created_once_and_then_written_again() -> None:
    out = Outputs()
    handle = CardHandle(publish=out)
    handle.display()
    handle.show(["<p>one</p>"], ["one"])
    handle.show(["<p>two</p>", "<p>one</p>"], ["two", "one"])

    assert [update for _, _, update in out.sent] == [False, True, True]
    assert {display_id for _, display_id, _ in out.sent} == {handle.id}
    assert "<p>two</p><p>one</p>" in out.html
    assert out.text == "two\n\none"


def test_what_is_shown_before_the_display_is_there_when_it_comes() -> None:
    out = Outputs()
    handle = CardHandle(publish=out)
    handle.show(["<p>early</p>"], ["early"])
    assert out.sent == []
    handle.display()
    assert "<p>early</p>" in out.html


def test_an_empty_handle_says_what_it_was_told_to_say() -> None:
    out = Outputs()
    CardHandle(
        empty_html="<i>none yet</i>", empty_text="none yet", publish=out
    ).display()
    assert "<i>none yet</i>" in out.html
    assert out.text == "none yet"


def test_a_handle_follows_views_newest_first_and_writes_every_change() -> None:
    out = Outputs()
    handle = CardHandle(publish=out)
    handle.display()
    first, second, third = View("first"), View("second"), View("third")
    handle.follow(first, second)
    handle.follow(third)
    assert out.text == "third\n\nsecond\n\nfirst"

    first.change("first, ended")
    assert out.text == "third\n\nsecond\n\nfirst, ended"
    assert "<p>first, ended</p>" in out.html


def test_a_closed_handle_keeps_what_it_holds_and_is_written_no_more() -> None:
    out = Outputs()
    handle = CardHandle(publish=out)
    handle.display()
    view = View("one")
    handle.follow(view)
    handle.close()
    before = len(out.sent)
    view.change("two")
    assert len(out.sent) == before
    assert view.listeners == []
    assert "<p>one</p>" in out.html


def test_the_live_style_hides_the_cards_of_its_own_handle_alone() -> None:
    out = Outputs()
    one, other = CardHandle(publish=out), CardHandle(publish=out)
    one.display()
    assert f'<div class="mediakit-cards-{one.id}">' in out.html
    assert f".mediakit-cards-{one.id}" in one.live_style
    assert other.id not in one.live_style


def test_outside_of_a_notebook_there_is_no_cell_and_nothing_is_sent(
    capsys: Any,
) -> None:
    assert current_cell() is None
    publish({"text/plain": "nobody reads this"})
    CardHandle().display()
    assert capsys.readouterr().out == ""


def test_a_real_kernel_writes_an_earlier_cell_from_another_thread(
    tmp_path: Path,
) -> None:
    cells = [
        "import threading\n"
        "from mediakit.widgets.card_handle import CardHandle, current_cell\n"
        "handle = CardHandle()\n"
        "handle.display()\n"
        "first = current_cell().run",
        "write = threading.Thread(\n"
        "    target=handle.show, args=(['<p>from a thread</p>'], ['from a thread'])\n"
        ")\n"
        "write.start()\n"
        "write.join()\n"
        "assert current_cell().run != first",
    ]
    first, second = run_cells(cells, tmp_path)

    (output,) = first.outputs
    assert "<p>from a thread</p>" in output["data"]["text/html"]
    assert output["data"]["text/plain"] == "from a thread"
    assert second.outputs == []
