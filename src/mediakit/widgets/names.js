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

function render({ el }) {
  let frame, watcher;
  const look = () => {
    const root = el.closest(ROOTS);
    if (!root) return;
    name(root);
    watcher ??= watch(root);
  };
  const soon = () => {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(look);
  };
  const watch = (root) => {
    const found = new MutationObserver(soon);
    const attributeFilter = ["class", "title", "disabled"];
    found.observe(root, { childList: true, subtree: true, attributeFilter });
    return found;
  };
  el.hidden = true;
  soon();
  return () => {
    cancelAnimationFrame(frame);
    watcher?.disconnect();
  };
}

export default { render };
