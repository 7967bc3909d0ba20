// Gives rows of buttons around it the names and states that screen readers need:
// ipywidgets omits them, and names elements without a tooltip "null". Status lines are live
// regions while they are displayed.

const ROOTS = ".mk-form";
const FOLDS = ".mk-fold, .mk-opens";
const GROUPS = ".widget-toggle-buttons";
const LABELS = ".widget-label";

const words = (element) => element?.textContent.trim() ?? "";

function name(root) {
  for (const each of root.querySelectorAll("[title='null']")) each.title = "";
  for (const group of root.querySelectorAll(GROUPS)) {
    set(group, "role", "group");
    set(group, "aria-label", words(group.querySelector(LABELS)));
  }
  for (const button of root.querySelectorAll(".widget-toggle-button")) {
    const state = button.matches(FOLDS) ? "aria-expanded" : "aria-pressed";
    set(button, state, String(button.classList.contains("mod-active")));
  }
  if (root.closest(DISCONNECTED)) stopPaying(root);
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
  guardPaidClicks();
  soon();
  return () => {
    cancelAnimationFrame(frame);
    watcher?.disconnect();
  };
}

export default { initialize: ({ model }) => keepCopies(model), render };
