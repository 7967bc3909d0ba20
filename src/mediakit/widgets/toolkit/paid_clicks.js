// Lets a button that costs money accept one click. It ignores the second click of a double
// click, clicks shortly after the button moved under the pointer or was renamed there, keys
// that are held down or run a cell, and all clicks once the kernel is gone.

const PAID = ".mk-paid";
const DISCONNECTED = ".jupyter-widgets-disconnected"; // JupyterLab's mark
const NEW_MS = 600;
const SECOND_MS = 900; // longer than the slowest double click
const LOOK_MS = 100;
const NEAR_PX = 16;
const NOTHING = { button: null, words: "", sinceMs: -Infinity };

const isInside = ({ left, right, top, bottom }, { x, y }) =>
  x >= left && x <= right && y >= top && y <= bottom;

// Explains that a click was ignored because the button has just moved under the pointer.
const AGAIN_MS = 2500;
const sayAgain = (button) => {
  const price = button.textContent.split(" · ").slice(1).join(" · ");
  const note = makeRole("mk-again", "status", price ? `Click again to pay ${price}` : "Click again");
  const { left, right, top, bottom } = button.getBoundingClientRect();
  document.querySelector(".mk-again")?.remove();
  document.body.append(note);
  const { width, height } = note.getBoundingClientRect();
  const middle = (left + right - width) / 2;
  note.style.left = `${Math.max(4, Math.min(middle, window.innerWidth - width - 4))}px`;
  note.style.top = `${top > height + 8 ? top - height - 6 : bottom + 6}px`;
  setTimeout(() => note.remove(), AGAIN_MS);
};

// Disables the paid buttons of an element whose kernel is gone.
function stopPaying(root) {
  for (const button of root.querySelectorAll(PAID)) {
    button.inert = true;
    set(button, "aria-disabled", "true");
  }
}

function guardPaidClicks() {
  const once = Symbol.for("mediakit.paidClicks");
  if (window[once]) return;
  window[once] = true;
  let pointer = { x: -1, y: -1 };
  let pointed = NOTHING;
  let focused = NOTHING;
  let last = { button: null, x: NaN, y: NaN, atMs: -Infinity };

  // A click counts if the pointer moved to the button, not if the button moved to it.
  const noted = (before, button, hasCome) => {
    const words = button ? `${button.disabled} ${button.textContent}` : "";
    if (before.button === button && before.words === words) return before;
    return { button, words, sinceMs: hasCome ? performance.now() : -Infinity };
  };
  const lookAtPointer = (at) => {
    const button = document.elementFromPoint(at.x, at.y)?.closest(PAID) ?? null;
    const wasHere = button && isInside(button.getBoundingClientRect(), pointer);
    pointed = noted(pointed, button, wasHere);
    pointer = at;
  };
  const lookAtFocus = () => {
    const button = document.activeElement?.closest(PAID) ?? null;
    focused = noted(focused, button, button === focused.button);
  };
  const onClick = (event) => {
    const isKey = event.detail === 0;
    const at = isKey ? { x: NaN, y: NaN } : { x: event.clientX, y: event.clientY };
    if (isKey) lookAtFocus();
    else lookAtPointer(at);
    const button = event.target.closest?.(PAID) ?? null;
    // The time of the click itself: a busy page handles it later.
    const now = event.timeStamp;
    const isSoon = now - last.atMs < SECOND_MS;
    const isNear = isSoon && Math.hypot(at.x - last.x, at.y - last.y) < NEAR_PX;
    const isSecond = isNear || (isSoon && button === last.button);
    const isNew = now - (isKey ? focused : pointed).sinceMs < NEW_MS;
    // A click on a control that has replaced the paid button is not meant for it, either.
    const isStray = isNear && last.button !== null;
    const isGone = button?.closest(`.mk-gone, ${DISCONNECTED}`);
    const isHeld = isStray || (button && (event.detail > 1 || isSecond || isNew || isGone));
    last = { button: isHeld ? last.button : button, ...at, atMs: now };
    if (isHeld) {
      // Say so only if no click counted: the hint could cause a second payment.
      if (button && isNew && event.detail <= 1 && !isSecond && !isGone) sayAgain(button);
      event.preventDefault();
      event.stopImmediatePropagation();
    }
  };
  document.addEventListener("click", onClick, true);
  document.addEventListener(
    "keydown",
    (event) => {
      const isPlain = !(event.repeat || event.ctrlKey || event.metaKey || event.altKey);
      if (event.key === "Enter" && !isPlain && event.target.closest?.(PAID)) event.preventDefault();
    },
    true,
  );
  document.addEventListener(
    "pointermove",
    ({ clientX, clientY }) => lookAtPointer({ x: clientX, y: clientY }),
    { capture: true, passive: true },
  );
  setInterval(() => {
    lookAtPointer(pointer);
    lookAtFocus();
  }, LOOK_MS);
}
