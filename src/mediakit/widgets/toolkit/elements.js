// The elements, texts and players that all widgets use.
//
// All text is set as text, never as markup. Each widget's script begins with this file.

const COPYING = "Your browser cannot play this file. Making a copy that it can play…";
const ENDED_EARLY = "The file ended early. Try again.";
const NOT_THE_FILE = "The server did not send the file.";
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
// The accessible name of a button of symbols is its title.
const makeButton = (text, title, press, name = "") => {
  const button = make("button", `mk-button ${name}`.trim(), text);
  button.type = "button";
  if (title) button.title = title;
  if (title && !/[a-z]/i.test(text)) button.setAttribute("aria-label", title);
  button.addEventListener("click", press);
  return button;
};
const setFold = (fold, isOpen) => fold.setAttribute("aria-expanded", String(isOpen));
// A button that unfolds something; screen readers would not treat <summary> as a button.
const folding = (text, turn, name = "mk-fold") => {
  const fold = makeButton(text, "", () => turn(fold.getAttribute("aria-expanded") !== "true"), name);
  setFold(fold, false);
  return fold;
};
// The keys of a widget and their effects, behind a button.
const makeKeys = (keys, { text = "Keys", isOpen = false } = {}) => {
  const rows = keys.map(([key, act]) => makeBox("", make("b", "", key), ` ${act}`));
  const list = makeBox("mk-facts mk-quiet mk-small-print mk-keys", ...rows);
  const turn = (opens) => {
    setFold(fold, opens);
    list.hidden = !opens;
  };
  const fold = folding(text, turn);
  turn(isOpen);
  return makeBox("mk-column", fold, list);
};
const keysText = (keys) => `Keys: ${keys.map(([key, act]) => `${key} ${act}`).join(", ")}.`;
// An element that is already in place is not moved, because it would lose its focus.
const putAt = (parent, at, child) => {
  if (parent.children[at] !== child) parent.insertBefore(child, parent.children[at] ?? null);
};
const makeTick = (turn) => {
  const tick = make("input");
  tick.type = "checkbox";
  if (turn) tick.addEventListener("change", () => turn(tick.checked));
  return tick;
};
// Replaces the content of an element with a question; the harmless answer has the focus.
const showQuestion = (place, { text, points, tick, yes, isPaid }, mayTick, act, end) => {
  const words = make("div", "mk-question");
  words.append(make("b", "", text));
  if (points.length) words.append(make("ul"));
  words.querySelector("ul")?.append(...points.map((point) => make("li", "", point)));
  const box = makeTick();
  const label = make("label", "mk-tick");
  label.append(box, make("span", "", tick));
  const [title, name] = isPaid ? ["", "mk-paid"] : ["This cannot be undone", "mk-danger"];
  const answer = makeButton(yes, title, () => act(box.checked), name);
  const no = makeButton("Cancel", "Change nothing", end);
  place.replaceChildren(words, ...(tick && mayTick ? [label] : []), answer, no);
  no.focus();
};
const makeLink = (href, text = "") =>
  Object.assign(make("a", "", text), { href, target: "_blank", rel: "noopener noreferrer" });
const makeSlider = (label, traits, name = "") => {
  const slider = Object.assign(make("input", name), { type: "range", ...traits });
  slider.setAttribute("aria-label", label);
  return slider;
};
// Unchanged text is not written: writing costs time, and screen readers repeat it.
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
// Resolves when an event arrives, or on a timeout.
const waitForEvent = (element, names, ms) =>
  new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      for (const name of names) element.removeEventListener(name, end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    for (const name of names) element.addEventListener(name, end);
  });

// Keeps keys pressed inside an element from JupyterLab, which applies arrows and letters to
// cells: it looks only at the focused element, not at the elements around it.
const keepKeys = (root) => {
  root.addEventListener("focusin", ({ target }) => (target.dataset.lmSuppressShortcuts = "true"));
  keepUndo(root);
  // JupyterLab forbids line breaks in cells; keys that run cells do nothing here, either.
  root.addEventListener("keydown", (event) => {
    // A form may be inside another element that keeps its keys.
    if (event.key !== "Enter" || event.isComposing || event.defaultPrevented) return;
    if (event.target.tagName !== "TEXTAREA") return;
    event.preventDefault();
    const runsCells = event.shiftKey || event.ctrlKey || event.metaKey || event.altKey;
    if (!runsCells) document.execCommand("insertText", false, "\n");
  });
};

// JupyterLab cancels undo in a box whose keydowns reach it. Saving is left to JupyterLab.
const UNDO_KEYS = ["z", "y", "control", "meta", "shift"];
const boxKey = (event) => {
  const key = event.key.toLowerCase();
  if ((!event.ctrlKey && !event.metaKey && key !== "shift") || event.altKey) return;
  if (UNDO_KEYS.includes(key)) event.stopPropagation();
  const { dataset } = event.target;
  if (key !== "s" || event.shiftKey || !dataset.lmSuppressShortcuts) return;
  delete dataset.lmSuppressShortcuts;
  setTimeout(() => (dataset.lmSuppressShortcuts = "true"));
};
const keepUndo = (root) =>
  root.addEventListener("focusin", ({ target }) => {
    if (target.matches("textarea, input")) target.addEventListener("keydown", boxKey);
  });

// Keeps keys typed in an element from the notebook, whose keys cut, delete and add cells.
const holdKeys = (root) => {
  keepUndo(root);
  root.addEventListener("keydown", (event) => {
    if (!event.ctrlKey && !event.metaKey && !event.altKey) event.stopPropagation();
  });
};

// Marks an element whose kernel is gone, or whose widget was saved in a notebook, because
// JupyterLab marks only its own views. Returns a function that ends this.
const markGone = (model, root) => {
  const gone = () => {
    root.classList.add("mk-gone");
    stopPaying(root);
  };
  model.on("comm_live_update", gone);
  queueMicrotask(() => {
    if (root.closest(DISCONNECTED)) gone();
  });
  return () => model.off("comm_live_update", gone);
};

// Asks the kernel; resolves with its answer and the bytes that came with it.
const ask = (model, content) =>
  new Promise((resolve) => {
    const number = Math.random();
    const onMessage = (answer, buffers) => {
      if (answer.answer !== number) return;
      model.off("msg:custom", onMessage);
      resolve({ ...answer, buffers });
    };
    model.on("msg:custom", onMessage);
    model.send({ ...content, number });
  });

// A result as an element. The source is an attribute of the tag: only that plays in live,
// reopened and exported notebooks alike.
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
const LOOPBACK = /^(127\.\d+\.\d+\.\d+|localhost|\[::1\])$/;
// Why the browser cannot reach a URL of the kernel's machine, and what to do; "" if it
// can. Behind a hub such a URL has the page's own origin, and the server answers with an
// HTML page instead of the file.
const unreachable = async (url) => {
  const { origin, hostname, port: own, pathname } = new URL(url, document.baseURI);
  const proxied = origin === location.origin ? /\/proxy\/(\d+)\//.exec(pathname)?.[1] : "";
  if (proxied === undefined || (!proxied && !LOOPBACK.test(hostname))) return "";
  const port = proxied || own;
  const answer = proxied
    ? fetch(url, { method: "HEAD", credentials: "same-origin" })
    : fetch(url, { method: "HEAD", credentials: "omit", mode: "no-cors" });
  const response = await answer.catch(() => null);
  const type = response?.headers.get("Content-Type") ?? "";
  if (response && !(proxied && type.startsWith("text/html"))) return "";
  const remedy = proxied
    ? "Install jupyter-server-proxy where the Jupyter server runs."
    : `Forward that port, too, such as with ssh -L ${port}:127.0.0.1:${port}.`;
  return `Your browser cannot reach 127.0.0.1:${port} of the machine that runs the kernel. ${remedy}`;
};
// If the browser cannot show a result, the kernel sends it: a clip as a copy that plays, a
// picture unchanged.
// Browsers report no error for a video whose picture they cannot decode (H.265 with sound).
// Returns a function that requests the copy; it is called at once unless `waitsForPlay`.
const playCopy = (source, cell, medium, { waits, plays, fails, waitsForPlay = false, poster = "" }) => {
  const isPicture = medium.tagName === "IMG";
  const isOwn = () => [cell.url, poster || cell.url].includes(medium.getAttribute("src"));
  const copy = async () => {
    const reason = await unreachable(cell.url);
    if (!isOwn()) return;
    if (isPicture && !reason) {
      fails(UNPLAYABLE);
      return;
    }
    if (isPicture && poster) medium.src = poster;
    waits?.(reason || COPYING);
    const { url, problem } = await source.copyOf(cell);
    if (!isOwn()) return;
    if (!url) {
      fails([reason, problem].filter(Boolean).join(" "));
      return;
    }
    medium.src = url;
    plays?.(reason);
  };
  const fail = () => {
    if (!medium.getAttribute("src")) return;
    if (!isOwn()) fails(UNPLAYABLE);
    else if (waitsForPlay && medium.paused) medium.dataset.needsCopy = "true";
    else copy();
  };
  medium.addEventListener("error", fail);
  medium.addEventListener("loadedmetadata", () => {
    if (medium.tagName === "VIDEO" && !medium.videoWidth) fail();
  });
  return copy;
};
// Fetches a whole result, or fails. Behind a hub the page's own origin asks for its cookie,
// and answers with a login page where that is missing or has expired.
const fetchFile = async (url, { medium, bytes: known }, signal, tell = () => {}) => {
  tell("…");
  const response = await fetch(url, { signal, mode: "cors", credentials: "same-origin", cache: "no-store" });
  if (!response.ok) throw new Error(`the answer was ${response.status}`);
  const type = response.headers.get("Content-Type") ?? "";
  const isOwn = new URL(url, document.baseURI).origin === location.origin;
  const isOther = type && medium && !type.startsWith(`${medium}/`) && !type.includes("octet-stream");
  const isPage = type.startsWith("text/html");
  if ((isOwn && response.redirected) || isPage || isOther) throw new Error(NOT_THE_FILE);
  const total = Number(response.headers.get("Content-Length")) || 0;
  let bytes = 0;
  const count = (piece, out) => {
    bytes += piece.byteLength;
    if (total) tell(`${Math.floor((100 * bytes) / total)}%`);
    out.enqueue(piece);
  };
  // The browser may keep blobs on its disk.
  const counted = response.body.pipeThrough(new TransformStream({ transform: count }));
  const blob = await new Response(counted, { headers: { "Content-Type": type } }).blob();
  if (total && bytes !== total) throw new Error(ENDED_EARLY);
  if (known && bytes !== known) throw new Error(NOT_THE_FILE);
  return blob;
};
// Adds the recipe from the kernel to a fetched file; returns the file unchanged if the
// kernel does not answer soon, or the file has another length.
const RECIPE_MS = 5000;
const withRecipe = async (blob, recipe) => {
  const late = new Promise((resolve) => setTimeout(resolve, RECIPE_MS, {}));
  const { size, places = [], buffers = [] } = (await Promise.race([recipe, late])) ?? {};
  if (!places.length || size !== blob.size) return blob;
  const parts = [];
  let at = 0;
  places.forEach(([start, end], place) => {
    parts.push(blob.slice(at, start), buffers[place]);
    at = end;
  });
  return new Blob([...parts, blob.slice(at)], { type: blob.type });
};
// Has the browser save a file. A link with a "download" attribute is ignored for files of
// another origin, so the link gets a URL of the page's own.
const handOver = (blob, name) => {
  const link = Object.assign(make("a"), { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
};
// Releases the connection and the memory of a player that is no longer needed.
const letGo = (player) => {
  if (!player.pause) return;
  player.pause();
  player.removeAttribute("src");
  player.load();
};
const isPlayer = (element) => ["VIDEO", "AUDIO"].includes(element?.tagName);
