// The controls of a form, one for each kind of field, made from what the kernel says of
// the field ("spec").
//
// A control is { root, read, write } and more: what it reads and writes is what the kernel
// calls the wire of its value. become(spec) makes it the control of another field of its
// name, in place, and tells whether that can be. `at` says where it stands: at.where() is its place, such as
// "tracks[0].id", and at.tell() is called after each change by hand. Writing changes only
// what differs, so that the focus and the cursor stay.

const NEARLY = 0.75;
const FOCUSABLE = "input:not([type=file]), textarea, select, button";

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

const CONTROLS = {
  text(form, spec, at) {
    const input = box(spec.long ? "textarea" : "input", { placeholder: spec.placeholder ?? "", dir: "auto" }, at.tell);
    const count = () => input.value.length;
    return {
      root: input,
      input,
      read: () => input.value,
      write: (text) => fill(input, text ?? ""),
      // A short name is counted only when it gets long.
      note: () =>
        spec.most && (spec.long || count() >= spec.most * NEARLY)
          ? `${count().toLocaleString("en")} of ${spec.most.toLocaleString("en")} characters`
          : "",
    };
  },

  json(form, spec, at) {
    const input = box("textarea", { placeholder: spec.placeholder }, at.tell);
    return { root: input, input, read: () => input.value, write: (text) => fill(input, text ?? "") };
  },

  choice(form, spec, at) {
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
  },

  switch(form, spec, at) {
    const input = makeTick(at.tell);
    return { root: input, input, isTick: true, read: () => input.checked, write: (on) => (input.checked = Boolean(on)) };
  },

  number(form, spec, at) {
    return spec.reach ? reachedNumber(spec, at) : freeNumber(spec, at);
  },

  media: (form, spec, at) => mediumControl(form, spec, at),
  media_list: (form, spec, at) => mediaControl(form, spec, at),
  items: (form, spec, at) => itemsControl(form, spec, at),
  rows: (form, spec, at) => new Rows(form, spec, at),
  object: (form, spec, at) => objectControl(form, spec, at),
  variants: (form, spec, at) => variantsControl(form, spec, at),
  either: (form, spec, at) => eitherControl(form, spec, at),
};

function fewChoices(spec, at) {
  const root = make("div", "mk-few");
  let chosen = 0;
  let counts = null; // what another field sets, which is not the value of this one
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

// A time in milliseconds is typed and shown in seconds; other text stays.
const scaled = (text, factor) =>
  text.trim() && Number.isFinite(Number(text)) ? String(Number((Number(text) * factor).toPrecision(15))) : text;

// A number in a box that may be empty; a seed has a dice.
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

// A bounded number: typed into a box, or drawn on a slider. What is typed is not limited,
// since 1 may become 13. A box that was emptied takes the last number within the bounds.
function reachedNumber(spec, at) {
  const [least, most, step] = spec.reach;
  const root = make("div", "mk-number");
  let kept = spec.start || spec.middle;
  const isNumber = () => input.value.trim() !== "" && Number.isFinite(Number(input.value));
  const isWithin = () => isNumber() && Number(input.value) >= least && Number(input.value) <= most;
  const follow = () => {
    set(input, "aria-valuenow", isNumber() ? input.value : null);
    if (slider && isNumber()) slider.value = input.value; // at its end, if it is beyond
    if (isWithin()) kept = input.value;
  };
  // A number box of the browser's own would take the mouse wheel, which scrolls the page.
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
  // The arrow keys go by the step, and what is typed may be any number.
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

// What switches an optional value on, with its name.
function switching(spec, turn) {
  const [line, tick] = [make("label", "mk-row mk-check mk-optional"), makeTick(turn)];
  line.append(tick, make("span", "", spec.label));
  return { line, tick };
}

// Numbers or texts, a box for each.
function itemsControl(form, spec, at) {
  const [root, items] = [make("div", "mk-column mk-list"), make("div", `mk-flow mk-items ${spec.text ? "mk-texts" : ""}`)];
  const boxes = [];
  // Where other fields say how many there are, all of them are added and removed at once.
  let followed;
  const needed = () => (at.isInner ? undefined : form.state.lists?.[spec.name]);
  const draw = () => {
    const [count, most] = [boxes.length, needed()?.[0] ?? spec.most];
    write(head, count ? (most ? `${count} of ${most}` : `${count}`) : "Not set");
    write(less, needed() ? "Remove all" : "Remove last");
    more.disabled = (Boolean(most) || Boolean(needed())) && count >= most;
    less.disabled = !count;
  };
  const grow = (text) => {
    const input = box("input", { inputMode: spec.text ? "text" : "decimal" }, at.tell);
    input.className = spec.text ? "mk-wide" : "mk-bare";
    input.setAttribute("aria-label", `${spec.label}, ${boxes.length + 1}`);
    input.value = text;
    boxes.push(input);
    items.append(input);
    return input;
  };
  const shrink = () => boxes.pop().remove();
  const fit = ([count, first]) => {
    while (boxes.length > count) shrink();
    while (boxes.length < count) grow(first || spec.first);
  };
  const head = make("span", "mk-quiet mk-count");
  const more = button("Add", `Add to ${spec.label.toLowerCase()}`, () => {
    const [count, first] = needed() ?? [boxes.length + 1, boxes.at(-1)?.value];
    const before = boxes.length;
    fit([count, spec.text ? "" : first]);
    draw();
    at.tell();
    boxes[before].focus();
  });
  const less = button("Remove last", `Remove the last of ${spec.label.toLowerCase()}`, () => {
    fit([needed() ? 0 : boxes.length - 1]);
    draw();
    at.tell();
  });
  const bar = makeBox("mk-row", head, more, less);
  root.append(bar, items);
  return {
    root,
    bar,
    isGroup: true,
    read: () => boxes.map((input) => input.value),
    write(texts = []) {
      while (boxes.length > texts.length) shrink();
      texts.forEach((text, place) => (boxes[place] ? fill(boxes[place], text) : grow(text)));
      draw();
    },
    // Follows another field that has changed, such as one more picture.
    follow() {
      const [count, first] = needed() ?? [];
      const isOther = followed && count && count !== followed;
      followed = count;
      if (isOther && boxes.length) {
        fit([count, spec.text ? "" : first]);
        at.tell();
      }
      draw();
    },
  };
}

// The fields of an object, framed.
class Frame {
  constructor(form, fields, at) {
    this.form = form;
    this.at = at;
    this.root = make("div", "mk-flow mk-group");
    this.members = new Map();
    this.become(fields);
  }

  // The fields of another object; those that both have stay in place.
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

const isAround = (place, inner) =>
  place === inner || (place !== null && inner.startsWith(place) && ".[".includes(inner[place.length]));

// An object under its name, with a switch when it may be left out.
function objectControl(form, spec, at) {
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
}

// A chooser, and what is chosen by it.
const chooser = (spec, names, choose) => {
  const input = make("select");
  const all = spec.none ? [null, ...names] : names;
  const texts = spec.none ? [spec.none, ...spec.options] : spec.options;
  input.append(...texts.map((text) => new Option(text)));
  input.addEventListener("change", () => choose(all[input.selectedIndex]));
  return { input, pick: (name) => (input.selectedIndex = Math.max(0, all.indexOf(name))) };
};

// One of several kinds of object. What was filled in stays when another one is chosen, as
// far as it has that field.
function variantsControl(form, spec, at) {
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
}

// What a field takes over from another one of its name; undefined for nothing.
function carried(spec, before) {
  if (!before) return undefined;
  const { wire } = before;
  if (isSame(spec, before.spec)) return wire;
  if (spec.kind !== before.spec.kind || spec.item?.kind !== before.spec.item?.kind) return undefined;
  if (["variants", "either"].includes(spec.kind)) return undefined;
  // A choice is a place among the options, which may be others.
  if (spec.kind !== "choice") return wire;
  const place = wire === null ? -1 : spec.options.indexOf(before.spec.options[wire]);
  return place < 0 ? undefined : place;
}

// A value of one of several shapes; what was filled in stays when another is chosen.
function eitherControl(form, spec, at) {
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
}
