from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mediakit.widgets.toolkit.cell_outputs import CardHandle, current_cell, publish
from tests.support.kernels import run_cells


@dataclass
class Outputs:
    """Keeps what a handle sends, as a notebook would."""

    sent: list[tuple[Mapping[str, str], str, bool]] = field(default_factory=list)

    def __call__(
        self,
        data: Mapping[str, str],
        *,
        transient: Mapping[str, str],
        update: bool,
        parent: object = None,
    ) -> None:
        self.sent.append((data, transient["display_id"], update))

    @property
    def html(self) -> str:
        return self.sent[-1][0]["text/html"]

    @property
    def text(self) -> str:
        return self.sent[-1][0]["text/plain"]


@dataclass(eq=False)
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


def test_a_head_is_created_once_and_written_again_where_it_changes() -> None:
    out = Outputs()
    handle = CardHandle(publish=out)
    handle.show("<p>early</p>", "early")
    assert out.sent == []
    handle.display()
    assert "<p>early</p>" in out.html
    assert out.text == "early"
    handle.show("<p>early</p>", "early")
    handle.show("<p>late</p>", "late")

    assert [update for _, _, update in out.sent] == [False, True]
    assert {display_id for _, display_id, _ in out.sent} == {handle.id}
    assert "<p>late</p>" in out.html


def test_a_handle_writes_a_change_of_a_view_where_that_view_stands() -> None:
    out = Outputs()
    handle = CardHandle(publish=out)
    first, second, third = View("first"), View("second"), View("third")
    handle.follow(first, second)
    handle.display()
    handle.follow(third)
    handle.follow(third)  # it is there already
    assert [data["text/plain"] for data, _, _ in out.sent] == [
        "first",
        "second",
        "third",
    ]
    assert len({display_id for _, display_id, _ in out.sent}) == 3

    first.change("first, ended")
    data, display_id, update = out.sent[-1]
    assert (data["text/plain"], update) == ("first, ended", True)
    assert display_id == out.sent[0][1]
    assert "<p>first, ended</p>" in out.html
    assert len(out.sent) == 4


def test_many_cards_at_once_share_a_few_outputs_of_the_fifty_that_a_cell_shows() -> (
    None
):
    out = Outputs()
    handle = CardHandle(publish=out)
    views = [View(f"no. {number};") for number in range(100)]
    handle.follow(*views)
    handle.display()
    texts = [data["text/plain"] for data, _, _ in out.sent]
    assert len(texts) == 13
    assert "".join(texts).replace("\n", "") == "".join(view.name for view in views)

    views[42].change("no. 42, ended;")
    data, display_id, update = out.sent[-1]
    assert (display_id, update) == (out.sent[42 // 8][1], True)
    assert "no. 42, ended;" in data["text/html"]
    assert "no. 43;" in data["text/html"]


def test_a_closed_handle_keeps_what_it_holds_and_is_written_no_more() -> None:
    out = Outputs()
    handle = CardHandle(publish=out)
    handle.display()
    view = View("one")
    handle.follow(view)
    handle.close()
    before = len(out.sent)
    view.change("two")
    handle.show("<p>head</p>")
    assert len(out.sent) == before
    assert view.listeners == []
    assert "<p>one</p>" in out.html


def test_the_live_style_hides_only_the_cards_of_its_own_handle() -> None:
    out = Outputs()
    one, other = CardHandle(publish=out), CardHandle(publish=out)
    one.show("<p>one</p>")
    one.display()
    assert f'<div class="mediakit-cards-{one.id}"' in out.html
    assert f".mediakit-cards-{one.id}" in one.live_style
    assert other.id not in one.live_style


def test_outside_of_a_notebook_there_is_no_cell_and_nothing_is_sent(
    capsys: Any,
) -> None:
    assert current_cell() is None
    publish({"text/plain": "nobody reads this"})
    handle = CardHandle()
    handle.show("nobody", "nobody")
    handle.display()
    assert capsys.readouterr().out == ""


def test_a_real_kernel_writes_an_earlier_cell_from_another_thread(
    tmp_path: Path,
) -> None:
    cells = [
        "import threading\n"
        "from mediakit.widgets.toolkit.cell_outputs import CardHandle, current_cell\n"
        "handle = CardHandle()\n"
        "handle.show('<p>early</p>', 'early')\n"
        "handle.display()\n"
        "first = current_cell().run",
        "write = threading.Thread(\n"
        "    target=handle.show, args=('<p>from a thread</p>', 'from a thread')\n"
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
