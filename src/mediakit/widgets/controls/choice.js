// A choice: a menu, or a button for each of a few options.

CONTROLS.choice = (form, spec, at) => {
  if (spec.few) return fewChoices(spec, at);
  const input = make("select");
  const shift = spec.none ? 1 : 0;
  input.append(...[...(spec.none ? [spec.none] : []), ...spec.options].map((text) => new Option(text)));
  input.addEventListener("change", at.tell);
  return {
    root: input,
    input,
    read: () => (input.selectedIndex < shift ? null : input.selectedIndex - shift),
    write: (place) => (input.selectedIndex = place === null || place === undefined ? 0 : place + shift),
  };
};

// A choice is an index of the options, which may differ.
CONTROLS.choice.carried = (spec, before) => {
  const place = before.wire === null ? -1 : spec.options.indexOf(before.spec.options[before.wire]);
  return place < 0 ? undefined : place;
};

function fewChoices(spec, at) {
  const root = make("div", "mk-few");
  let chosen = 0;
  let counts = null; // a choice that another field sets, which is not this field's value
  const draw = () => buttons.forEach((each, place) => set(each, "aria-pressed", String(place === (counts ?? chosen))));
  const buttons = spec.options.map((text, place) =>
    button(text, "", () => {
      chosen = place;
      draw();
      at.tell();
    }, ""),
  );
  root.append(...buttons);
  return {
    root,
    isGroup: true,
    read: () => chosen,
    write(place) {
      chosen = place ?? 0;
      draw();
    },
    override(place) {
      counts = place;
      draw();
    },
  };
}
