// An object: the fields inside it, in a frame.

// An object under its name, with a switch if it is optional.
CONTROLS.object = (form, spec, at) => {
  const root = make("div", "mk-column mk-list");
  const frame = new Frame(form, spec.fields ?? [], at);
  const common = {
    root,
    reveal: (place) => frame.reveal(place),
    close: () => frame.close(),
    become(next) {
      if (next.kind !== spec.kind || next.optional !== spec.optional) return false;
      frame.become(next.fields ?? []);
      return true;
    },
  };
  if (!spec.optional) {
    if (spec.doc && spec.label) root.append(make("div", "mk-quiet", spec.doc));
    root.append(frame.root);
    return { ...common, isGroup: true, read: () => frame.read(), write: (wire) => frame.write(wire ?? { of: {} }) };
  }
  const { tick, line } = switching(spec, (on) => {
    show(on);
    at.tell();
  });
  const show = (on) => {
    root.replaceChildren(line, ...(on ? [frame.root] : []));
    root.toggleAttribute("data-off", !on);
  };
  frame.write(spec.first);
  show(false);
  return {
    ...common,
    input: tick,
    isNamed: true,
    name: line.lastChild,
    read: () => (tick.checked ? frame.read() : null),
    write(wire) {
      if (wire) frame.write(wire);
      if (tick.checked === Boolean(wire)) return;
      tick.checked = Boolean(wire);
      show(tick.checked);
    },
  };
};

CONTROLS.object.isFramed = true;

// The fields of an object, in a frame.
class Frame {
  constructor(form, fields, at) {
    this.form = form;
    this.at = at;
    this.root = make("div", "mk-flow mk-group");
    this.members = new Map();
    this.become(fields);
  }

  // Shows the fields of another object; the fields of both stay in place.
  become(fields) {
    const before = this.members;
    this.members = new Map();
    for (const spec of fields) {
      const kept = before.get(spec.name);
      const stays = kept && (isSame(kept.spec, spec) || kept.control.become?.(spec));
      if (stays) {
        kept.spec = spec;
        before.delete(spec.name);
      }
      const at = { ...this.at, where: () => `${this.at.where()}.${spec.name}`, isInner: true };
      this.members.set(spec.name, stays ? kept : this.form.field(spec, at));
    }
    for (const member of before.values()) this.form.drop(member);
    this.root.replaceChildren(...[...this.members.values()].map((member) => member.root));
  }

  read() {
    const of = {};
    for (const [name, member] of this.members) of[name] = member.control.read();
    return this.rest ? { of, rest: this.rest } : { of };
  }

  write({ of, rest }) {
    this.rest = rest;
    for (const [name, member] of this.members)
      if (name in of) member.control.write(of[name]);
      else if (member.spec.start !== undefined) member.control.write(member.spec.start);
  }

  reveal(place) {
    for (const member of this.members.values()) if (isAround(member.where(), place)) member.control.reveal?.(place);
  }

  close() {
    for (const member of this.members.values()) this.form.drop(member);
  }
}
