"""The price that the user saw at the time of a click; pure."""

from mediakit.estimates import Estimate

ARRIVES_S = 0.6
"""How long a price, and a paid button, must stand until they are taken for seen."""


class SeenPrice:
    """The prices that a form shows, and the one that a click was made in view of.

    A change and a click that follow each other closely come to the kernel together,
    and the price of the change is shown only then. Such a click was made in view of
    the price before.
    """

    def __init__(self) -> None:
        self._shown: list[tuple[float, Estimate]] = []

    def show(self, estimate: Estimate | None, at_s: float) -> None:
        """Note that a price is shown from now on.

        Args:
            estimate: The price; while there is none, nothing can be submitted, and the
                one before stays the last that was seen.
            at_s: Now, in seconds that never go backwards.
        """
        if estimate is None or (self._shown and self._shown[-1][1] == estimate):
            return
        self._shown = [*self._of_late(at_s), (at_s, estimate)]

    def at(self, at_s: float) -> Estimate | None:
        """Return the least price that may have been seen; None without any.

        Args:
            at_s: When the click came, in the same seconds.
        """
        prices = [estimate for _, estimate in self._of_late(at_s)]
        return min(prices, key=_dearness, default=None)

    def _of_late(self, at_s: float) -> list[tuple[float, Estimate]]:
        """Return the last price that stood long enough, and all later ones."""
        old = [shown for shown in self._shown if shown[0] <= at_s - ARRIVES_S]
        return [*old[-1:], *self._shown[len(old) :]]


def is_dearer(now: Estimate, before: Estimate) -> bool:
    """Tell whether a price may come to more than another one."""
    return _dearness(now) > _dearness(before)


def _dearness(estimate: Estimate) -> tuple[bool, int, bool, int]:
    # The upper end counts first; what has none may cost anything.
    low, high = estimate.low, estimate.high
    return (high is None, high or 0, low is None, low or 0)
