// A colour picker beside a box for the colour's code.

CONTROLS.color = (form, spec, at) => {
  const input = box("input", { placeholder: spec.placeholder }, () => {
    follow();
    at.tell();
  });
  const picker = box("input", { type: "color" }, () => {
    input.value = picker.value;
    at.tell();
  });
  picker.setAttribute("aria-label", `Pick ${spec.label.toLowerCase()}`);
  const follow = () => (picker.value = input.value);
  return {
    root: makeBox("mk-row", input, picker),
    input,
    read: () => input.value,
    write(code) {
      fill(input, code ?? "");
      follow();
    },
  };
};
