// Any JSON value, typed as text.

CONTROLS.json = (form, spec, at) => {
  const input = box("textarea", { placeholder: spec.placeholder }, at.tell);
  return { root: input, input, read: () => input.value, write: (text) => fill(input, text ?? "") };
};
