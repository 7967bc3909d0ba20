// Yes or no, as a box to tick.

CONTROLS.switch = (form, spec, at) => {
  const input = makeTick(at.tell);
  return { root: input, input, isTick: true, read: () => input.checked, write: (on) => (input.checked = Boolean(on)) };
};
