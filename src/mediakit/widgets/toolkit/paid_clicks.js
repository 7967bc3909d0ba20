// Lets a button that costs money take one click: not the second one of a double click,
// and none shortly after the button came to where the pointer is, or was renamed there.

const PAID = ".mk-paid";
const NEW_MS = 600;
const SECOND_MS = 900; // longer than the slowest double click
const LOOK_MS = 100;
const NEAR_PX = 16;
const NOTHING = { button: null, words: "", sinceMs: -Infinity };

const isInside = ({ left, right, top, bottom }, { x, y }) =>
  x >= left && x <= right && y >= top && y <= bottom;

function guardPaidClicks() {
  const once = Symbol.for("mediakit.paidClicks");
  if (window[once]) return;
  window[once] = true;
  let pointer = { x: -1, y: -1 };
  let pointed = NOTHING;
  let focused = NOTHING;
  let last = { button: null, x: NaN, y: NaN, atMs: -Infinity };

  // A button that the person went to may be clicked; one that came is held.
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
  const hear = (event) => {
    const isKey = event.detail === 0;
    const at = isKey ? { x: NaN, y: NaN } : { x: event.clientX, y: event.clientY };
    if (isKey) lookAtFocus();
    else lookAtPointer(at);
    const button = event.target.closest?.(PAID) ?? null;
    const now = performance.now();
    const isSoon = now - last.atMs < SECOND_MS;
    const isNear = isSoon && Math.hypot(at.x - last.x, at.y - last.y) < NEAR_PX;
    const isSecond = isNear || (isSoon && button === last.button);
    const isNew = now - (isKey ? focused : pointed).sinceMs < NEW_MS;
    // What came to the place of a paid button meanwhile is not meant either.
    const isStray = isNear && last.button !== null;
    const isHeld = isStray || (button && (event.detail > 1 || isSecond || isNew));
    last = { button: isHeld ? last.button : button, ...at, atMs: now };
    if (isHeld) {
      event.preventDefault();
      event.stopImmediatePropagation();
    }
  };
  document.addEventListener("click", hear, true);
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
