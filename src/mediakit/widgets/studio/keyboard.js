// What the studio's page does by itself: the tabs get their roles and arrow keys, and a
// click with Shift on a row's box selects or clears the rows in between, too.

const set = (element, name, value) => {
  if (element && element.getAttribute(name) !== value) {
    element.setAttribute(name, value);
  }
};
const tabs = (root) => [...root.querySelectorAll(".mk-st-tabs .widget-toggle-button")];
const ticks = (root) => [...root.querySelectorAll(".mk-st-tick input[type=checkbox]")];

function nameTabs(root) {
  const list = root.querySelector(".mk-st-tabs");
  set(list, "role", "tablist");
  for (const tab of tabs(root)) {
    const chosen = tab.classList.contains("mod-active");
    set(tab, "role", "tab");
    set(tab, "aria-selected", String(chosen));
    set(tab, "tabindex", chosen ? "0" : "-1");
    if (tab.hasAttribute("aria-pressed")) tab.removeAttribute("aria-pressed");
    const place = root.querySelector(".mk-st-place");
    set(place, "role", "tabpanel");
    if (chosen) set(place, "aria-label", tab.textContent.trim());
  }
}

const MOVES = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity };

function move(root, event) {
  const all = tabs(root);
  const at = all.indexOf(event.target);
  if (at < 0 || !(event.key in MOVES)) return;
  const last = all.length - 1;
  const step = MOVES[event.key];
  const to = Number.isFinite(step) ? (at + step + all.length) % all.length : step < 0 ? 0 : last;
  event.preventDefault();
  all[to].focus();
  all[to].click();
}

function range(root, before, event) {
  const all = ticks(root);
  const to = all.indexOf(event.target);
  if (to < 0) return before;
  const from = all.indexOf(before);
  if (event.shiftKey && from >= 0) {
    const [low, high] = from < to ? [from, to] : [to, from];
    for (const box of all.slice(low, high + 1)) {
      if (box.checked !== event.target.checked) box.click();
    }
  }
  return event.target;
}

function render({ el }) {
  let frame, watcher, root, last;
  const onKey = (event) => move(root, event);
  const onClick = (event) => {
    // The clicks that a range makes are not clicks of a person.
    if (event.isTrusted) last = range(root, last, event);
  };
  const look = () => {
    root ??= el.closest(".mk-studio");
    if (!root) return;
    nameTabs(root);
    if (watcher) return;
    root.addEventListener("keydown", onKey);
    root.addEventListener("click", onClick);
    watcher = new MutationObserver(soon);
    const attributeFilter = ["class", "role", "aria-pressed"];
    watcher.observe(root, { childList: true, subtree: true, attributeFilter });
  };
  const soon = () => {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(look);
  };
  el.hidden = true;
  soon();
  return () => {
    cancelAnimationFrame(frame);
    watcher?.disconnect();
    root?.removeEventListener("keydown", onKey);
    root?.removeEventListener("click", onClick);
  };
}

export default { render };
