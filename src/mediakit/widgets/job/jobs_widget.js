function initialize({ model }) {
  return hearJobs(model);
}

function render({ model, el }) {
  return drawJobs(model, el);
}

export default { initialize, render };
