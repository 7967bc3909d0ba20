// The parts that all controls share. A control is made from the kernel's description of
// its field ("spec"), and is { root, read, write } and more:
//
// - read() and write(wire) use the wire form of the value, as the kernel calls it.
//   Writing changes only what differs, so that the focus and the cursor stay.
// - input is the element that the label names; without one, isGroup, isTick or isNamed says
//   how the field is named.
// - become(spec) turns it into the control of another field with its name, in place, and
//   returns whether that is possible; reveal(place) shows the part at a place inside it;
//   note() returns a line to show below it; close() ends it.
//
// at.where() is the place of the control, such as "tracks[0].id", and at.tell() is
// called after each change by the user.

let lastId = 0;
const newId = () => `mk-${Date.now().toString(36)}-${(lastId += 1)}`;
const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);
const fill = (input, text) => {
  if (input.value !== text) input.value = text;
};
const button = (text, title, press, name = "mk-small") => makeButton(text, title, press, name);
const labelFor = (text, input) => {
  const label = make("label", "mk-label", text);
  input.id ||= newId();
  label.htmlFor = input.id;
  return label;
};
const box = (tag, traits, tell) => {
  const input = Object.assign(make(tag), { autocomplete: "off", dir: "auto", ...traits });
  input.addEventListener("input", tell);
  return input;
};

// The function (form, spec, at) that makes each control, by its name in Python; the
// control's file adds it. It may have
// - isFramed: in a row of a list, it is drawn without a field around it.
// - carried(spec, before): the value that it takes over from another field with its
//   name and kind.
const CONTROLS = {};

const isAround = (place, inner) =>
  place === inner || (place !== null && inner.startsWith(place) && ".[".includes(inner[place.length]));

// The switch that enables an optional value, with its name.
function switching(spec, turn) {
  const [line, tick] = [make("label", "mk-row mk-check mk-optional"), makeTick(turn)];
  line.append(tick, make("span", "", spec.label));
  return { line, tick };
}

// A menu, and the control of what is chosen in it.
const chooser = (spec, names, choose) => {
  const input = make("select");
  const all = spec.none ? [null, ...names] : names;
  const texts = spec.none ? [spec.none, ...spec.options] : spec.options;
  input.append(...texts.map((text) => new Option(text)));
  input.addEventListener("change", () => choose(all[input.selectedIndex]));
  return { input, pick: (name) => (input.selectedIndex = Math.max(0, all.indexOf(name))) };
};
