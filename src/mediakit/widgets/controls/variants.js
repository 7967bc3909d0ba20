// One of several kinds of object. If another kind is chosen, the values of fields that
// both kinds have stay.
CONTROLS.variants = (form, spec, at) => {
  const root = make("div", "mk-column mk-list");
  const few = !spec.none && spec.options.length <= 3;
  const tags = Object.keys(spec.variants);
  const kept = {};
  let [tag, frame] = [null, null];
  const turn = (next) => {
    for (const [name, { spec: each, control }] of frame?.members ?? []) kept[name] = { spec: each, wire: control.read() };
    tag = next;
    const variant = spec.variants[tag];
    if (!variant) {
      frame?.close();
      frame?.root.remove();
      frame = null;
      return;
    }
    const fields = variant.fields ?? [];
    if (frame) frame.become(fields);
    else frame = new Frame(form, fields, at);
    if (!frame.root.parentNode) root.append(frame.root);
    const of = { ...variant.first.of };
    for (const each of fields) {
      const wire = carried(each, kept[each.name]);
      if (wire !== undefined) of[each.name] = wire;
    }
    frame.write({ of });
  };
  const choose = (next) => {
    turn(next);
    at.tell();
    form.showState();
  };
  let pick;
  const inner = {};
  if (few) {
    const control = fewChoices(spec, { tell: () => choose(tags[control.read()]) });
    pick = (name) => control.write(tags.indexOf(name));
    inner.root = control.root;
  } else {
    const made = chooser(spec, tags, choose);
    pick = made.pick;
    Object.assign(inner, { root: made.input, input: made.input });
  }
  const head = makeBox("mk-column", inner.root);
  if (at.isItem) {
    const name = spec.none ? spec.label : `${spec.label} *`;
    head.prepend(inner.input ? labelFor(name, inner.input) : make("span", "mk-label", name));
    if (!inner.input) {
      inner.root.setAttribute("role", "group");
      inner.root.setAttribute("aria-label", name);
    }
  }
  root.append(head);
  return {
    root,
    input: at.isItem ? undefined : inner.input,
    isGroup: !inner.input,
    read: () => (tag === null ? null : { tag, ...frame.read() }),
    write(wire) {
      const next = wire?.tag ?? null;
      pick(next);
      if (next !== tag) turn(next);
      if (wire) frame.write(wire);
    },
    reveal: (place) => frame?.reveal(place),
    close: () => frame?.close(),
  };
};

CONTROLS.variants.isFramed = true;
CONTROLS.variants.carried = () => undefined;

// The value that a field takes over from another field with its name; undefined if
// none.
function carried(spec, before) {
  if (!before) return undefined;
  if (isSame(spec, before.spec)) return before.wire;
  if (spec.kind !== before.spec.kind || spec.item?.kind !== before.spec.item?.kind) return undefined;
  const { carried: convert } = CONTROLS[spec.kind];
  return convert ? convert(spec, before) : before.wire;
}
