"""Finds layout problems of a page by measuring its elements."""

from __future__ import annotations

from playwright.sync_api import FloatRect, Locator

# Boxes that scroll or shorten their text by design, and elements on a canvas, which may
# overlap.
FAULTS = """(root, leastContrast) => {
    const faults = [];
    const says = (what, element) => {
        const text = element.innerText || element.value || element.className;
        faults.push(`${what}: <${element.tagName.toLowerCase()} class="`
            + `${element.className}"> ${String(text).slice(0, 60)}`);
    };
    const scrolls = ".mk-tl-scroll, .mk-wall-scroll";
    const free = "input, textarea, select, option, .mk-tl-scroll, .mk-tl-scroll *, "
        + ".mk-wall-scroll, .mk-wall-grid, .mk-wall-said-of, "
        + ".mk-wall-prompt-line, "
        + ".mk-bare>.widget-label, .mk-items .widget-label, "
        + ".noUi-target, .noUi-target *, pre, svg, svg *, progress, video, .fa";
    const shown = (e) => e.checkVisibility({ visibilityProperty: true })
        && e.getClientRects().length > 0
        && !e.closest(".mk-spoken");
    const over = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
        && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;
    const rgba = (text) => {
        const found = text.match(/[\\d.]+/g).map(Number);
        const scale = text.startsWith("color(") ? 255 : 1;
        const [r, g, b, a = 1] = found.slice(-4).length === 4 ? found.slice(-4) : found;
        return [r * scale, g * scale, b * scale, a];
    };
    const mix = (top, under) => [0, 1, 2]
        .map(n => top[n] * top[3] + under[n] * (1 - top[3])).concat(1);
    const ground = (e) => {
        if (!e) return [255, 255, 255, 1];
        const own = rgba(getComputedStyle(e).backgroundColor);
        return own[3] === 1 ? own : mix(own, ground(e.parentElement));
    };
    const light = (c) => {
        const [r, g, b] = c.map(v => v / 255)
            .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const contrast = (e) => {
        const under = ground(e);
        const pair = [mix(rgba(getComputedStyle(e).color), under), under].map(light);
        return (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
    };
    const outer = root.getBoundingClientRect();
    for (const element of root.querySelectorAll("*")) {
        if (!shown(element)) continue;
        const box = element.getBoundingClientRect();
        if (box.right > outer.right + 1 && !element.closest(scrolls))
            says("sticks out", element);
        const style = getComputedStyle(element);
        const shortens = style.textOverflow === "ellipsis";
        if (!element.matches(free) && !shortens && style.display !== "inline"
            && element.scrollWidth > element.clientWidth + 1 && element.clientWidth)
            says(`cut (${element.scrollWidth} in ${element.clientWidth})`, element);
        if (!element.matches(free) && style.overflowY === "hidden" && !shortens
            && element.scrollHeight > element.clientHeight + 2 && element.clientHeight)
            says(`cut below (${element.scrollHeight} in ${element.clientHeight})`,
                 element);
        const kids = [...element.children].filter(kid => shown(kid)
            && !["absolute", "fixed"].includes(getComputedStyle(kid).position)
            && !kid.matches(free) && getComputedStyle(kid).display !== "inline");
        for (const [at, kid] of kids.entries())
            for (const other of kids.slice(at + 1))
                if (over(kid.getBoundingClientRect(), other.getBoundingClientRect()))
                    says(`lies on ${other.className || other.tagName}`, kid);
        const speaks = [...element.childNodes]
            .some(node => node.nodeType === 3 && node.data.trim());
        const off = element.closest("[disabled], :disabled, :has(>:disabled)");
        if (speaks && !off && contrast(element) < leastContrast)
            says(`faint (${contrast(element).toFixed(2)})`, element);
    }
    return faults;
}"""
LEAST_CONTRAST = 4.0
# Measure again if the page is still being drawn.
LOOKS = 20
LOOK_MS = 250
NAMELESS = """root => {
    const words = (e) => e?.textContent?.trim() ?? "";
    const title = (e) => e.title === "null" ? "" : e.title;
    const name = (e) => e.getAttribute("aria-label")
        || words(document.getElementById(e.getAttribute("aria-labelledby")))
        || words(e.labels?.[0]) || words(e.closest("label"))
        || e.querySelector("img")?.alt
        || (e.matches("button, a, summary, [role=button]") ? words(e) : "")
        || title(e) || e.placeholder || "";
    const wanted = "a[href], button, input:not([type=file]), select, textarea, summary,"
        + " [role=slider], [tabindex='0']";
    return [...root.querySelectorAll(wanted)]
        .filter(e => e.checkVisibility() && !name(e))
        .map(e => e.outerHTML.slice(0, 400));
}"""
UNREACHABLE = """root => [...root.querySelectorAll(
        "button, input:not([type=file]), select, textarea, summary, [role=slider]")]
    .filter(e => e.checkVisibility() && !e.disabled && !e.closest("[disabled]")
        && e.tabIndex < 0 && !e.closest(".mk-timeline"))
    .map(e => e.outerHTML.slice(0, 400))"""


def layout_faults(root: Locator) -> list[str]:
    """Return clipped, overlapping, protruding and faint elements of a settled page."""
    found: list[str] = []
    for _ in range(LOOKS):
        found = root.evaluate(FAULTS, LEAST_CONTRAST)
        if not found:
            break
        root.page.wait_for_timeout(LOOK_MS)
    return found


def nameless(root: Locator) -> list[str]:
    """Return the controls without an accessible name."""
    found: list[str] = root.evaluate(NAMELESS)
    return found


def unreachable(root: Locator) -> list[str]:
    """Return the controls that the Tab key does not reach."""
    found: list[str] = root.evaluate(UNREACHABLE)
    return found


def box_of(what: Locator) -> FloatRect:
    """Return the bounding box of an element."""
    box = what.bounding_box()
    assert box is not None
    return box


def middle(what: Locator) -> tuple[float, float]:
    """Return the point at which a pointer hits the element."""
    box = box_of(what)
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
