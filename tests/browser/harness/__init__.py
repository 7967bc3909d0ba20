"""Drives JupyterLab as a user does: a server, a page object and facts about videos."""

from tests.browser.harness.lab import COUNT, Lab, connected
from tests.browser.harness.pages import VIEWPORT, LabPages
from tests.browser.harness.server import LabServer, serve_lab
from tests.browser.harness.video import VideoFacts, video_facts
from tests.browser.harness.wait import SCREENSHOTS

__all__ = [
    "COUNT",
    "SCREENSHOTS",
    "VIEWPORT",
    "Lab",
    "LabPages",
    "LabServer",
    "VideoFacts",
    "connected",
    "serve_lab",
    "video_facts",
]
