// Lists of objects in a form, a row for each.

const MOST_UNFOLDED = 3;
const SHORT = 24;

// Rows that the user can add, remove, move and fold. If there are many, only those in
// use are unfolded, and the others have no controls.
class Rows {
  constructor(form, spec, at) {
    Object.assign(this, { form, spec, at, rows: [], isGroup: true });
    this.root = make("div", "mk-column mk-list");
    this.count = make("span", "mk-quiet mk-count");
    this.bar = makeBox("mk-row", this.count);
    this.list = make("div", "mk-column mk-entries");
    this.more = button(`Add ${spec.one}`, `Add to ${spec.label.toLowerCase()}`, () => this.add(), "mk-small mk-add");
    this.root.append(this.bar, this.list, this.more);
  }

  read() {
    return this.rows.map((row) => row.read());
  }

  write(wires = []) {
    while (this.rows.length > wires.length) {
      const at = this.rows.findIndex((row, place) => !isSame(row.read(), wires[place]));
      this.rows.splice(at < 0 ? this.rows.length - 1 : at, 1)[0].close();
    }
    // A timeline unfolds its selected row.
    const few = !this.spec.timeline && wires.length <= MOST_UNFOLDED;
    wires.forEach((wire, place) => {
      if (this.rows[place]) this.rows[place].write(wire);
      else this.rows.push(new Row(this, wire, few));
    });
    this.arrange();
  }

  add() {
    if (this.rows.length >= MOST_UNFOLDED) for (const row of this.rows) row.turn(false);
    const row = new Row(this, this.spec.item.start ?? null, true);
    this.rows.push(row);
    this.changed();
    row.root.querySelector(".mk-group input, .mk-group textarea, .mk-group select, input, textarea, select")?.focus();
  }

  move(row, by) {
    const at = this.rows.indexOf(row);
    const to = Math.min(Math.max(0, at + by), this.rows.length - 1);
    this.rows.splice(to, 0, ...this.rows.splice(at, 1));
    this.changed();
  }

  remove(row) {
    this.rows.splice(this.rows.indexOf(row), 1);
    row.close();
    this.changed();
  }

  changed() {
    this.arrange();
    this.at.tell();
    this.form.showState();
  }

  arrange() {
    const [{ rows, spec }, count] = [this, this.rows.length];
    write(this.count, count ? (spec.most ? `${count} of ${spec.most}` : `${count}`) : "none");
    this.more.disabled = Boolean(spec.most) && count >= spec.most;
    rows.forEach((row, at) => {
      putAt(this.list, at, row.root);
      row.number({ up: at > 0, down: at < count - 1, remove: count > (spec.fewest ?? 0) });
    });
  }

  // The rows stay in place, so that text typed in the meantime is not lost.
  become(spec) {
    if (spec.kind !== this.spec.kind || spec.item.kind !== "object" || this.spec.item.kind !== "object") return false;
    this.spec = spec;
    for (const row of this.rows) row.control?.become(spec.item);
    return true;
  }

  reveal(place) {
    const found = this.rows.find((row) => isAround(row.where(), place));
    for (const row of this.rows) {
      row.root.classList.toggle("mk-chosen", row === found);
      if (found && row !== found) row.turn(false);
    }
    found?.turn(true);
    found?.control.reveal?.(place);
    this.form.showState();
  }

  close() {
    for (const row of this.rows) row.close();
  }
}

CONTROLS.rows = (form, spec, at) => new Rows(form, spec, at);

class Row {
  constructor(list, wire, isOpen) {
    this.list = list;
    this.wire = wire;
    this.control = null;
    this.root = make("div", "mk-frame mk-column mk-entry");
    this.note = make("div", "mk-note mk-small-print");
    this.fold = folding("", (on) => {
      this.turn(on);
      list.form.showState();
    }, "mk-fold mk-title mk-cut");
    const { one } = list.spec;
    this.buttons = {
      up: button("Up", `Move this ${one} up`, () => list.move(this, -1)),
      down: button("Down", `Move this ${one} down`, () => list.move(this, 1)),
      remove: button("Remove", `Remove this ${one}`, () => list.remove(this)),
    };
    this.head = makeBox("mk-row", this.fold);
    this.root.append(this.head, this.note);
    this.where = () => `${list.at.where()}[${list.rows.indexOf(this)}]`;
    list.form.members.add(this);
    this.turn(isOpen);
  }

  get isFolded() {
    return !this.control;
  }

  turn(isOpen) {
    if (isOpen === Boolean(this.control)) return;
    const { form, at, spec } = this.list;
    if (isOpen) {
      const isFramed = CONTROLS[spec.item.kind].isFramed;
      const inner = { ...at, where: this.where, isItem: true, isInner: true };
      const item = { ...spec.item, label: isFramed ? spec.item.label : titleCase(spec.one) };
      this.member = isFramed ? null : form.field(item, inner);
      this.control = this.member?.control ?? CONTROLS[item.kind](form, item, inner);
      this.control.write(this.wire);
      this.head.append(...Object.values(this.buttons));
      this.head.after(this.member?.root ?? this.control.root);
    } else {
      this.wire = this.control.read();
      this.letGo();
    }
    setFold(this.fold, isOpen);
    this.draw();
  }

  letGo() {
    if (this.member) this.list.form.drop(this.member);
    else this.control?.close?.();
    (this.member ?? this.control)?.root.remove();
    this.control = this.member = null;
    for (const each of Object.values(this.buttons)) each.remove();
  }

  read() {
    return this.control ? this.control.read() : this.wire;
  }

  write(wire) {
    if (isSame(this.read(), wire)) return;
    this.wire = wire;
    this.control?.write(wire);
    this.draw();
  }

  number(can) {
    for (const [name, each] of Object.entries(this.buttons)) each.disabled = !can[name];
    this.draw();
  }

  draw() {
    const name = `${titleCase(this.list.spec.one)} ${this.list.rows.indexOf(this) + 1}`;
    const words = this.control ? "" : summaryOf(this.wire, this.list.spec.item, this.list.form.state);
    write(this.fold, words ? `${name} · ${words}` : name);
  }

  close() {
    this.list.form.members.delete(this);
    this.letGo();
    this.root.remove();
  }
}

// The summary of a folded row: "video · intro · 2 clips", "start 0.5 s · a.png".
function summaryOf(wire, item, state) {
  if (!wire?.of) return typeof wire === "string" ? shortName(wire) : "";
  const { fields = [] } = item.variants?.[wire.tag] ?? item;
  const fieldOf = (name) => fields.find((each) => each.name === name);
  const labelOf = (name) => (fieldOf(name)?.label ?? name).toLowerCase();
  const facts = Object.entries(wire.of).map(([name, value]) => {
    if (Array.isArray(value)) return `${value.length} ${value.length === 1 ? labelOf(name).replace(/s$/, "") : labelOf(name)}`;
    if (typeof value !== "string" || !value) return "";
    const { title } = state.found?.[`${fieldOf(name)?.medium} ${value}`] ?? {};
    if (!Number.isFinite(Number(value))) return title || state.names?.[value] || shortName(value);
    if (!fieldOf(name)?.in_seconds) return `${name} ${value}`;
    return `${labelOf(name).replace(" (s)", "")} ${scaled(value, 0.001)} s`;
  });
  return [wire.tag, ...facts].filter(Boolean).slice(0, 4).join(" · ");
}

const shortName = (text) => {
  const name = /:\/\/|^\//.test(text) ? text.split("?")[0].split("/").at(-1) : text;
  return name.length <= SHORT ? name : `${name.slice(0, SHORT - 1)}…`;
};
