function initialize({ model }) {
  const ends = [hearJobs(model), keepCopies(model)];
  return () => ends.forEach((end) => end());
}

function render({ model, el }) {
  return drawJobs(model, el);
}

export default { initialize, render };
