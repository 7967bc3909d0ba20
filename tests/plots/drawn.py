"""Reads what is drawn on an Axes."""

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from mediakit.money import MICRO_PER_USD


def figure_of(size, **settings):
    """A figure that pyplot does not know, but that can be drawn."""
    figure = Figure(figsize=size, **settings)
    FigureCanvasAgg(figure)
    return figure


def micro_usd(usd):
    """The whole micro-USD that a drawn length represents."""
    return round(usd * MICRO_PER_USD)


def bars(axes):
    """The bars from the top: name, micro-USD and the text beside it."""
    names = [label.get_text() for label in axes.get_yticklabels()]
    lengths = [micro_usd(bar.get_width()) for bar in axes.patches]
    says = [text.get_text() for text in axes.texts]
    return list(zip(names, lengths, says, strict=True))


def legend(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def title(axes):
    return axes.get_title(loc="left")


def said(axes):
    """What an empty plot says."""
    (text,) = axes.texts
    return text.get_text()


def ticks(axis):
    axis.figure.draw_without_rendering()
    return [label.get_text() for label in axis.get_ticklabels()]


def notes(axes):
    """What is below the label of the x axis."""
    return axes.get_xlabel().split("\n")[1:]
