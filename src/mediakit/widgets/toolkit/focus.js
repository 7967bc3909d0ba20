// Puts the focus into the first control of the form around it, when that is wanted.

const FIRST = ["input", "textarea", "select", "button"]
  .map((tag) => `.mk-controls ${tag}:not([disabled]):not([type=file])`)
  .join(", ");
const TRIES = 40;
const TRY_AGAIN_MS = 50;

function render({ model, el }) {
  let timer;
  // The controls of a new form come onto the page a moment after this.
  const focus = (tries = TRIES) => {
    if (!model.get("wanted")) return;
    const found = el.closest(".mk-form")?.querySelector(FIRST);
    if (found?.getClientRects().length) {
      found.focus();
      model.set("wanted", false);
      model.save_changes();
    } else if (tries) timer = setTimeout(() => focus(tries - 1), TRY_AGAIN_MS);
  };
  const changed = () => focus();
  el.hidden = true;
  model.on("change:wanted", changed);
  focus();
  return () => {
    clearTimeout(timer);
    model.off("change:wanted", changed);
  };
}

export default { render };
