// Text, in a box of one or several lines.

const NEARLY = 0.75;

CONTROLS.text = (form, spec, at) => {
  const input = box(spec.long ? "textarea" : "input", { placeholder: spec.placeholder ?? "", dir: "auto" }, at.tell);
  const count = () => input.value.length;
  return {
    root: input,
    input,
    read: () => input.value,
    write: (text) => fill(input, text ?? ""),
    // The characters of a short field are counted only when the text gets long.
    note: () =>
      spec.most && (spec.long || count() >= spec.most * NEARLY)
        ? `${count().toLocaleString("en")} of ${spec.most.toLocaleString("en")} characters`
        : "",
  };
};
