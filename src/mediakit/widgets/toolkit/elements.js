// What every widget of ours draws with: elements, texts, and players of results.
//
// All text is set as text, never as markup. Each widget's script begins with this file.

const COPYING = "Your browser cannot play this file. Making a copy that it can play…";
const UNPLAYABLE = "Your browser cannot show this file, or it has been deleted.";

const make = (tag, name = "", text) => {
  const element = document.createElement(tag);
  if (name) element.className = name;
  if (text !== undefined) element.textContent = text;
  return element;
};
const makeBox = (name, ...children) => {
  const box = make("div", name);
  box.append(...children);
  return box;
};
const makeRole = (name, role, ...children) => {
  const box = makeBox(name, ...children);
  box.setAttribute("role", role);
  return box;
};
// A button of symbols has its title for a name.
const makeButton = (text, title, press, name = "") => {
  const button = make("button", `mk-button ${name}`.trim(), text);
  button.type = "button";
  if (title) button.title = title;
  if (title && !/[a-z]/i.test(text)) button.setAttribute("aria-label", title);
  button.addEventListener("click", press);
  return button;
};
// An element that is already in place is not moved: it would lose its focus.
const putAt = (parent, at, child) => {
  if (parent.children[at] !== child) parent.insertBefore(child, parent.children[at] ?? null);
};
const makeTick = (turn) => {
  const tick = make("input");
  tick.type = "checkbox";
  if (turn) tick.addEventListener("change", () => turn(tick.checked));
  return tick;
};
const makeLink = (href, text = "") =>
  Object.assign(make("a", "", text), { href, target: "_blank", rel: "noopener noreferrer" });
const makeSlider = (label, traits, name = "") => {
  const slider = Object.assign(make("input", name), { type: "range", ...traits });
  slider.setAttribute("aria-label", label);
  return slider;
};
// What does not change is not written: writing costs time and is announced again.
const write = (element, text) => {
  if (element.textContent !== text) element.textContent = text;
};
const set = (element, name, value) => {
  if (value === null) element.removeAttribute(name);
  else if (element.getAttribute(name) !== value) element.setAttribute(name, value);
};
const titleCase = (text) => text.charAt(0).toUpperCase() + text.slice(1);
const many = (number, name) => `${number.toLocaleString("en")} ${name}${number === 1 ? "" : "s"}`;
const clockText = (s) => {
  const tenths = Math.round(s * 10) / 10;
  const minutes = Math.floor(tenths / 60);
  return `${minutes}:${(tenths % 60).toFixed(1).padStart(4, "0")}`;
};
// Resolves when an event comes, or fails to come in time.
const comes = (element, names, ms) =>
  new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      for (const name of names) element.removeEventListener(name, end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    for (const name of names) element.addEventListener(name, end);
  });

// Keeps the keys that are pressed inside an element from JupyterLab, which takes arrows and
// letters for the cells: it looks at what has the focus, and at nothing above that.
const keepKeys = (root) => {
  root.addEventListener("focusin", ({ target }) => (target.dataset.lmSuppressShortcuts = "true"));
  // It forbids line breaks in cells, so that running one adds no line to it.
  root.addEventListener("keydown", (event) => {
    const isPlain = event.key === "Enter" && !event.ctrlKey && !event.metaKey && !event.isComposing;
    // A form may stand in another element that keeps its keys.
    if (!isPlain || event.defaultPrevented || event.target.tagName !== "TEXTAREA") return;
    event.preventDefault();
    document.execCommand("insertText", false, "\n");
  });
};

// Keeps from the notebook what is typed anywhere in an element: its own keys cut cells,
// delete them and add others.
const holdKeys = (root) =>
  root.addEventListener("keydown", (event) => {
    if (!event.ctrlKey && !event.metaKey && !event.altKey) event.stopPropagation();
  });

// Marks an element once the kernel of its widget is gone: JupyterLab marks views of its own
// alone. Returns what ends that.
const markGone = (model, root) => {
  const gone = () => root.classList.add("mk-gone");
  model.on("comm_live_update", gone);
  return () => model.off("comm_live_update", gone);
};

// Asks the kernel; resolves with its answer and the bytes that came with it.
const ask = (model, content) =>
  new Promise((resolve) => {
    const number = Math.random();
    const hear = (said, buffers) => {
      if (said.answer !== number) return;
      model.off("msg:custom", hear);
      resolve({ ...said, buffers });
    };
    model.on("msg:custom", hear);
    model.send({ ...content, number });
  });

// A result as an element; the source stands on the tag itself: the only way that plays
// in a live, reopened and exported notebook.
const makeMedium = (cell, poster, { preload = "none", label = "", controls = false } = {}) => {
  if (cell.medium === "image") {
    const image = make("img", "mk-medium");
    image.loading = "lazy";
    image.alt = label;
    image.src = cell.url;
    return image;
  }
  const player = make(cell.medium === "audio" ? "audio" : "video", "mk-medium");
  player.preload = preload;
  if (label) player.setAttribute("aria-label", label);
  player.controls = controls || cell.medium === "audio";
  if (cell.medium !== "audio") {
    player.playsInline = true;
    if (poster) player.poster = poster;
  }
  if (!player.controls) {
    player.setAttribute("muted", "");
    player.muted = player.loop = true;
  }
  player.src = cell.url;
  return player;
};
// A player whose file the browser cannot play plays the copy that the kernel makes of it.
// A video without a picture is not an error for a browser (H.265 with sound).
// Returns what asks for the copy; it is asked for at once unless `waitsForPlay`.
const playCopy = (source, cell, medium, { waits, plays, fails, waitsForPlay = false }) => {
  const isOwn = () => medium.getAttribute("src") === cell.url;
  const copy = async () => {
    waits?.();
    const { url, problem } = await source.copyOf(cell);
    if (!isOwn()) return;
    if (!url) {
      fails(problem);
      return;
    }
    medium.src = url;
    plays?.();
  };
  const fail = () => {
    if (!medium.getAttribute("src")) return;
    if (!isOwn() || medium.tagName === "IMG") fails(UNPLAYABLE);
    else if (waitsForPlay && medium.paused) medium.dataset.needsCopy = "true";
    else copy();
  };
  medium.addEventListener("error", fail);
  medium.addEventListener("loadedmetadata", () => {
    if (medium.tagName === "VIDEO" && !medium.videoWidth) fail();
  });
  return copy;
};
// Has the browser save a file. A link with a "download" attribute is ignored for files of
// another origin, so it gets one of the page's own.
const handOver = (blob, name) => {
  const link = Object.assign(make("a"), { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
};
// Gives back the connection and the memory of a player that is not needed any more.
const letGo = (player) => {
  if (!player.pause) return;
  player.pause();
  player.removeAttribute("src");
  player.load();
};
const isPlayer = (element) => ["VIDEO", "AUDIO"].includes(element?.tagName);
