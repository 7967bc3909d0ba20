// A result over its input, with one slider between them; two clips play in step.

const DRIFT_S = 0.08;
const GONE = "The input cannot be shown here: it may have expired.";

function render({ model, el }) {
  const medium = model.get("medium");
  const isVideo = medium === "video";
  const make = (tag, name, parent, text) => {
    const made = document.createElement(tag);
    if (name) made.className = name;
    if (text) made.textContent = text;
    // Otherwise JupyterLab takes arrows and letters for the cells.
    if (tag === "input" || tag === "button") made.dataset.lmSuppressShortcuts = "true";
    parent?.append(made);
    return made;
  };
  const figure = make("figure", "mk-compare", el);
  const stage = make("div", "mk-compare-stage", figure);
  const shown = (name) => {
    const media = make(isVideo ? "video" : "img", name, stage);
    if (isVideo) {
      media.muted = name === "mk-compare-before";
      media.playsInline = true;
      media.preload = "auto";
      media.loop = false;
    } else {
      media.alt = name === "mk-compare-before" ? "Before" : "After";
      media.draggable = false;
    }
    return media;
  };
  const after = shown("mk-compare-after");
  const before = shown("mk-compare-before");
  make("span", "mk-compare-tag mk-compare-left", stage, "Before");
  make("span", "mk-compare-tag mk-compare-right", stage, "After");
  make("div", "mk-compare-line", stage);
  const slider = make("input", "mk-compare-slider", figure);
  Object.assign(slider, { type: "range", min: 0, max: 100, step: 1, value: 50 });
  slider.setAttribute("aria-label", "Before and after");
  const trouble = make("div", "mk-compare-trouble", figure);
  trouble.setAttribute("role", "status");

  const move = () => {
    stage.style.setProperty("--mk-at", `${slider.value}%`);
    slider.setAttribute("aria-valuetext", `${slider.value}% before`);
  };
  slider.addEventListener("input", move);
  move();
  const drag = (event) => {
    if (!event.buttons) return;
    const { left, width } = stage.getBoundingClientRect();
    slider.value = Math.round((100 * (event.clientX - left)) / width);
    move();
  };
  stage.addEventListener("pointerdown", (event) => {
    stage.setPointerCapture(event.pointerId);
    drag(event);
  });
  stage.addEventListener("pointermove", drag);

  const shape = () => {
    const width = after.videoWidth || after.naturalWidth;
    const height = after.videoHeight || after.naturalHeight;
    if (width && height) stage.style.aspectRatio = `${width} / ${height}`;
  };
  after.addEventListener(isVideo ? "loadedmetadata" : "load", shape);
  before.addEventListener("error", () => (trouble.textContent = GONE));
  const end = isVideo ? inStep(before, after, figure, make) : () => {};

  const data = model.get("after_data");
  let url = null;
  if (data?.byteLength) {
    url = URL.createObjectURL(new Blob([data], { type: "video/mp4" }));
  }
  before.src = model.get("before");
  after.src = url ?? model.get("after");
  return () => {
    end();
    if (url) URL.revokeObjectURL(url);
  };
}

function inStep(before, after, figure, make) {
  const bar = make("div", "mk-compare-bar", figure);
  const play = make("button", "jupyter-widgets jupyter-button widget-button", bar, "Play");
  play.type = "button";
  const seek = make("input", "mk-compare-seek", bar);
  Object.assign(seek, { type: "range", min: 0, max: 1, step: 0.01, value: 0 });
  seek.setAttribute("aria-label", "Position in seconds");
  const time = make("span", "mk-compare-time", bar);

  const follow = () => {
    const there = Math.min(after.currentTime, before.duration || after.currentTime);
    if (Math.abs(before.currentTime - there) > DRIFT_S) before.currentTime = there;
    if (document.activeElement !== seek) seek.value = after.currentTime;
    const at = after.currentTime.toFixed(1);
    time.textContent = `${at} / ${(after.duration || 0).toFixed(1)} s`;
  };
  const both = async (what) => {
    follow();
    await Promise.allSettled([after, before].map((each) => each[what]()));
  };
  play.addEventListener("click", () => {
    if (after.ended) after.currentTime = 0;
    both(after.paused ? "play" : "pause");
  });
  seek.addEventListener("input", () => {
    after.currentTime = before.currentTime = Number(seek.value);
    follow();
  });
  after.addEventListener("loadedmetadata", () => {
    seek.max = after.duration || 1;
    follow();
  });
  for (const event of ["play", "pause", "ended"]) {
    after.addEventListener(event, () => {
      play.textContent = after.paused ? "Play" : "Pause";
      if (after.paused) before.pause();
      follow();
    });
  }
  const timer = setInterval(() => after.paused || follow(), 100);
  after.addEventListener("seeked", follow);
  return () => clearInterval(timer);
}

export default { render };
