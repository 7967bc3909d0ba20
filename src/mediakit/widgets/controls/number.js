// A number: typed into a box, or set with a slider if it is bounded.

CONTROLS.number = (form, spec, at) => (spec.reach ? reachedNumber(spec, at) : freeNumber(spec, at));

// A time in milliseconds is typed and shown in seconds; other text stays.
const scaled = (text, factor) =>
  text.trim() && Number.isFinite(Number(text)) ? String(Number((Number(text) * factor).toPrecision(15))) : text;

// A number in a box that may be empty; a seed has a button that draws a number.
function freeNumber(spec, at) {
  const input = box("input", { inputMode: "decimal", placeholder: spec.placeholder ?? "" }, at.tell);
  const root = spec.seed ? make("div", "mk-row mk-seed") : input;
  if (spec.seed) {
    const [low, high] = spec.seed;
    const draw = () => {
      input.value = String(low + Math.floor(Math.random() * (high - low + 1)));
      at.tell();
    };
    root.append(input, button("New seed", `Draw a number for ${spec.label.toLowerCase()}`, draw));
  }
  if (!spec.in_seconds) return { root, input, read: () => input.value, write: (text) => fill(input, text ?? "") };
  const read = () => scaled(input.value, 1000);
  const write = (text) => read() !== (text ?? "") && fill(input, scaled(text ?? "", 0.001));
  return { root, input, read, write };
}

// A bounded number: typed into a box, or set with a slider. Typed numbers are not
// limited, because 1 may become 13. An emptied box returns to the last number within
// the bounds.
function reachedNumber(spec, at) {
  const [least, most, step] = spec.reach;
  const root = make("div", "mk-number");
  let kept = spec.start || spec.middle;
  const isNumber = () => input.value.trim() !== "" && Number.isFinite(Number(input.value));
  const isWithin = () => isNumber() && Number(input.value) >= least && Number(input.value) <= most;
  const follow = () => {
    set(input, "aria-valuenow", isNumber() ? input.value : null);
    if (slider && isNumber()) slider.value = input.value; // the slider stops at its end
    if (isWithin()) kept = input.value;
  };
  // The browser's own number box would react to the mouse wheel, which should scroll
  // the page.
  const input = Object.assign(make("input"), { inputMode: "decimal", autocomplete: "off" });
  const aria = { role: "spinbutton", "aria-valuemin": least, "aria-valuemax": most, "aria-label": spec.label };
  for (const [name, value] of Object.entries(aria)) input.setAttribute(name, value);
  input.addEventListener("input", () => {
    if (input.value.trim() === "") return;
    follow();
    at.tell();
  });
  input.addEventListener("change", () => {
    if (input.value.trim() !== "") return;
    input.value = kept;
    at.tell();
  });
  // The arrow keys change the number by the step; any number may be typed.
  input.addEventListener("keydown", (event) => {
    const way = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (!way) return;
    event.preventDefault();
    const next = Number(isNumber() ? input.value : kept) + way * step;
    input.value = String(Math.round(next * 1e6) / 1e6);
    follow();
    at.tell();
  });
  const slider = spec.slides ? makeSlider(spec.label, { min: least, max: most, step }, "mk-slider") : null;
  slider?.addEventListener("input", () => {
    input.value = slider.value;
    follow();
    at.tell();
  });
  const numbers = slider ? [input, slider] : [input];
  if (!spec.optional) {
    root.append(...numbers);
    return {
      root,
      input,
      read: () => input.value,
      write(text) {
        fill(input, text || kept);
        follow();
      },
    };
  }
  const { tick, line } = switching(spec, (on) => {
    input.value ||= kept;
    follow();
    show(on);
    at.tell();
  });
  const show = (on) => root.replaceChildren(line, ...(on ? numbers : []));
  return {
    root,
    input: tick,
    isNamed: true,
    name: line.lastChild,
    read: () => (tick.checked ? input.value : ""),
    write(text) {
      if (text) fill(input, text);
      follow();
      if (tick.checked === Boolean(text) && root.firstChild) return;
      tick.checked = Boolean(text);
      show(tick.checked);
    },
  };
}
