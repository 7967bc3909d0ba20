"""One JupyterLab page that tests reuse."""

from __future__ import annotations

from playwright.sync_api import Browser, Page, ViewportSize

from tests.browser.harness.lab import Lab

VIEWPORT = ViewportSize(width=1280, height=900)


class LabPages:
    """Reuses a page, because loading JupyterLab takes longer than most tests.

    Each test has its own kernels and notebooks.
    """

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._page: Page | None = None

    def take(self) -> Page:
        """Return the page at its initial size."""
        if self._page is None:
            # Animations would take a tenth of the processor time, and no test needs
            # them.
            context = self._browser.new_context(
                viewport=VIEWPORT, device_scale_factor=1, reduced_motion="reduce"
            )
            self._page = context.new_page()
        self._page.set_viewport_size(VIEWPORT)
        return self._page

    def put_back(self, lab: Lab) -> None:
        """Clear the page for the next test, or close it if that fails."""
        context = lab.page.context
        for other in context.pages:
            if other != lab.page:
                other.close()
        context.clear_permissions()
        if lab.is_spoilt:
            self.close()
        else:
            lab.leave()

    def close(self) -> None:
        """Close the page, if there is one."""
        if self._page is not None:
            self._page.context.close()
            self._page = None
