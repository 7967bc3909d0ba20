// Gives sliders and rows of buttons around it the names and states that screen readers
// need: ipywidgets draws them without, and calls what has no tooltip "null". What tells
// how things stand is a live region for as long as it is there.

const ROOTS = ".mk-form, .mk-jobs";
const FOLDS = ".mk-fold, .mk-opens";
const GROUPS = ".widget-toggle-buttons, .mk-choices";
const LABELS = ".widget-label";
const NAMES = ".widget-label, .widget-label-basic";

const set = (element, name, value) => {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
};
const words = (element) => element?.textContent.trim() ?? "";

// A slider's box, or the switch in front of it, shows the name of both.
const beside = (slider) => words(slider.closest(".mk-row")?.querySelector(NAMES));

function name(root) {
  for (const each of root.querySelectorAll("[title='null']")) each.title = "";
  for (const handle of root.querySelectorAll(".widget-slider [role='slider']")) {
    const slider = handle.closest(".widget-slider");
    set(handle, "aria-label", words(slider.querySelector(LABELS)) || beside(slider));
    const off = Boolean(slider.querySelector("[disabled]"));
    set(handle, "aria-disabled", String(off));
    set(handle, "tabindex", off ? "-1" : "0");
  }
  for (const group of root.querySelectorAll(GROUPS)) {
    set(group, "role", "group");
    set(group, "aria-label", words(group.querySelector(LABELS)));
  }
  for (const button of root.querySelectorAll(".widget-toggle-button")) {
    const state = button.matches(FOLDS) ? "aria-expanded" : "aria-pressed";
    set(button, state, String(button.classList.contains("mod-active")));
  }
  for (const region of root.querySelectorAll(".mk-live")) set(region, "role", "status");
}

// A click on "Add" moves the focus into what it added, once that is on the page.
const ADD_WAIT_MS = 5000;
const BOXES = "input:not([type=file]), textarea, select";
let added = null;

const boxesOf = (box) => [...box.querySelectorAll(BOXES)];

function noteAdd(event) {
  const box = event.target.closest(".mk-adds")?.closest(".mk-media, .mk-list");
  if (!box) return;
  const until = performance.now() + ADD_WAIT_MS;
  added = { box, until, before: new Set(boxesOf(box)) };
}

function focusAdded() {
  if (!added) return;
  const found = boxesOf(added.box).find((each) => !added.before.has(each));
  if (found && !found.disabled) found.focus();
  if (found || performance.now() > added.until) added = null;
}

// A box that was emptied takes the last number that was acceptable, where ipywidgets
// would bring back what was typed before: the one that it held when the focus came, or
// that of its slider, which stays within the bounds.
const kept = new WeakMap();

function sliderOf(box) {
  if (box.type !== "number") return null;
  const handle = box.closest(".mk-number")?.querySelector("[role='slider']");
  const number = (name) => Number(handle.getAttribute(`aria-value${name}`));
  return handle ? { min: number("min"), max: number("max"), now: number("now") } : null;
}

function keepNumber({ target: box }) {
  const slider = sliderOf(box);
  if (!slider || box.value === "") return;
  const number = Number(box.value);
  if (number >= slider.min && number <= slider.max) kept.set(box, box.value);
}

function refill({ target: box }) {
  const slider = sliderOf(box);
  if (!slider || box.value !== "") return;
  box.value = kept.get(box) ?? String(slider.now);
}

function render({ el }) {
  let frame, watcher;
  const look = () => {
    const root = el.closest(ROOTS);
    if (!root) return;
    name(root);
    focusAdded();
    watcher ??= watch(root);
  };
  const soon = () => {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(look);
  };
  const watch = (root) => {
    const found = new MutationObserver(soon);
    const attributeFilter = ["class", "title", "disabled"];
    root.addEventListener("click", noteAdd, true);
    root.addEventListener("focus", keepNumber, true);
    root.addEventListener("change", refill, true);
    found.observe(root, { childList: true, subtree: true, attributeFilter });
    return found;
  };
  el.hidden = true;
  guardPaidClicks();
  soon();
  return () => {
    cancelAnimationFrame(frame);
    watcher?.disconnect();
  };
}

export default { render };
