// A value of one of several shapes; its values stay when another shape is chosen.
CONTROLS.either = (form, spec, at) => {
  const root = make("div", "mk-column mk-list");
  const shapes = Object.keys(spec.variants);
  const kept = {};
  let [shape, body] = [null, null];
  const turn = (next, wire) => {
    if (body) kept[shape] = body.read();
    body?.close?.();
    body?.root.remove();
    shape = next;
    const inside = spec.variants[shape];
    body = inside ? CONTROLS[inside.kind](form, inside, at) : null;
    if (!body) return;
    if (body.input) body.input.setAttribute("aria-label", spec.label);
    body.write(wire ?? kept[shape] ?? inside.start);
    root.append(body.root);
  };
  const { input, pick } = chooser(spec, shapes, (next) => {
    turn(next);
    at.tell();
  });
  root.append(input);
  return {
    root,
    input,
    read: () => (body ? { as: shape, value: body.read() } : null),
    write(wire) {
      const next = wire?.as ?? null;
      pick(next);
      if (next === shape && body) body.write(wire.value);
      else turn(next, wire?.value);
    },
    reveal: (place) => body?.reveal?.(place),
    close: () => body?.close?.(),
  };
};

CONTROLS.either.carried = () => undefined;
