// Several media, in an order that the user can change, one line each.
CONTROLS.media_list = (form, spec, at) => {
  const [root, list] = [make("div", "mk-column mk-media"), make("div", "mk-column mk-mediarows")];
  const rows = [];
  const given = () => rows.filter((row) => row.medium.value.trim());
  const changed = () => {
    arrange();
    at.tell();
  };
  const grow = (wire = "") => {
    const row = { root: make("div", "mk-row mk-mediarow"), note: make("div", "mk-note mk-small-print") };
    row.medium = new Medium(form, spec, changed);
    row.medium.value = wire;
    row.label = labelFor("", row.medium.input);
    row.where = () => {
      const place = given().indexOf(row);
      return place < 0 ? null : `${at.where()}[${place}]`;
    };
    row.up = button("↑", "Move one place up", () => move(row, -1), "mk-small mk-icon");
    row.down = button("↓", "Move one place down", () => move(row, 1), "mk-small mk-icon");
    row.remove = button("✕", "Remove this row", () => remove(row), "mk-small mk-icon");
    for (const [each, name] of [[row.up, "Up"], [row.down, "Down"], [row.remove, "Remove"]])
      each.setAttribute("aria-label", name);
    const tools = [row.up, row.down, row.remove];
    if (spec.cites && form.cite) {
      row.cite = button("Cite", "Write this reference where the cursor is in the prompt", () => form.cite(row.label.textContent));
      tools.push(row.cite);
    }
    const { picture, input, facts } = row.medium;
    row.root.append(picture, row.label, input, makeBox("mk-row mk-tools", ...tools), facts, row.note);
    form.media.add(row.medium);
    form.members.add(row);
    rows.push(row);
    return row;
  };
  const drop = (row) => {
    form.media.delete(row.medium);
    form.members.delete(row);
    row.root.remove();
  };
  // Citations in the prompt follow their media to the new numbers.
  const renumbered = (act) => {
    const before = given();
    act();
    const after = given();
    changed();
    if (spec.cites) form.renumberCitations?.(spec.tag, before.map((row) => after.indexOf(row) + 1));
  };
  const remove = (row) => {
    const place = rows.indexOf(row);
    renumbered(() => drop(...rows.splice(place, 1)));
    (rows[place] ?? rows.at(-1))?.remove.focus();
    if (!rows.length) more.focus();
  };
  const move = (row, by) => {
    const from = rows.indexOf(row);
    renumbered(() => rows.splice(from + by, 0, ...rows.splice(from, 1)));
    const ways = by < 0 ? [row.up, row.down] : [row.down, row.up];
    ways.find((way) => !way.disabled)?.focus();
  };
  const take = (path, name) => {
    const row = rows.find((each) => !each.medium.value.trim()) ?? grow();
    if (name) row.medium.take(path, name);
    else row.medium.value = path;
    arrange();
  };
  const arrange = () => {
    const [count, most] = [given().length, spec.most];
    let number = 0;
    rows.forEach((row, place) => {
      putAt(list, place, row.root);
      const isGiven = Boolean(row.medium.value.trim());
      if (isGiven) number += 1;
      write(row.label, isGiven ? `${spec.tag}${number}` : "new");
      row.up.disabled = place === 0;
      row.down.disabled = place === rows.length - 1;
      if (row.cite) row.cite.disabled = !isGiven;
    });
    write(head, count && most ? `${count} of ${most}` : String(count || "none"));
    more.disabled = Boolean(most) && rows.length >= most;
    for (const each of tools.all) each.disabled = Boolean(most) && count >= most;
  };
  const head = make("span", "mk-quiet mk-count");
  const more = button("Add", `Add a row to ${spec.label.toLowerCase()}`, () => {
    const row = grow();
    changed();
    row.medium.input.focus();
  });
  const tools = mediaTools(form, spec, root, { take, count: () => given().length, value: () => "", changed });
  const bar = makeBox("mk-row", head, makeBox("mk-row mk-tools", more, ...tools.all));
  root.append(bar, tools.uploads.state, tools.panel, list);
  arrange();
  return {
    root,
    bar,
    isGroup: true,
    read: () => rows.map((row) => row.medium.value),
    write(wires = []) {
      while (rows.length > wires.length) drop(rows.pop());
      wires.forEach((wire, place) => (rows[place] ? (rows[place].medium.value = wire) : grow(wire)));
      arrange();
    },
    note: () => spec.limits ?? "",
    close() {
      rows.forEach(drop);
      tools.uploads.close();
    },
  };
};
