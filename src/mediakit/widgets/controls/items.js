// Numbers or strings, a box for each.
CONTROLS.items = (form, spec, at) => {
  const [root, items] = [make("div", "mk-column mk-list"), make("div", `mk-flow mk-items ${spec.text ? "mk-texts" : ""}`)];
  const boxes = [];
  // If other fields determine the number of items, all of them are added and removed at
  // once.
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
  const bar = makeBox("mk-row", head, makeBox("mk-row mk-tools", more, less));
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
    // Follows a change of another field, such as an added picture.
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
};
