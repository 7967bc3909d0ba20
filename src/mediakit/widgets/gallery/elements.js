// The wall of results: pieces that the other parts are made of.
//
// The kernel says what there is; these files draw it and say what was done. All text is
// set as text, never as markup.

const GONE = "The kernel is gone: this is what the wall showed last, and nothing changes it.";
const SLOW = "Waiting for the kernel …";
const UNPLAYABLE = "Your browser cannot show this file, or it has been deleted.";
const COPYING = "Your browser cannot play this file. Making a copy that it can play…";
const ANSWER_MS = 4000;
const BEST = 5;
const NOT_RUNNING = {
  planned: "not sent yet",
  queued: "queued",
  unsent: "unsent",
  invalid: "invalid",
  failed: "failed",
  completed: "no result to show",
};

const make = (tag, name = "", text) => {
  const element = document.createElement(tag);
  if (name) element.className = name;
  if (text !== undefined) element.textContent = text;
  return element;
};
// What does not change is not written: writing costs time and is announced again.
const write = (element, text) => {
  if (element.textContent !== text) element.textContent = text;
};
const set = (element, name, value) => {
  if (value === null) element.removeAttribute(name);
  else if (element.getAttribute(name) !== value) element.setAttribute(name, value);
};
const makeButton = (name, text, words, press) => {
  const button = make("button", `mk-wall-button ${name}`.trim(), text);
  button.type = "button";
  if (words) {
    button.title = words;
    button.setAttribute("aria-label", words);
  }
  button.addEventListener("click", press);
  return button;
};
// A text in pieces, in which those that differ from the other texts stand out.
const writeMarked = (element, pieces) => {
  const parts = pieces.map(([text, differs]) =>
    make(differs ? "b" : "span", differs ? "mk-wall-differs" : "", text),
  );
  element.replaceChildren(...parts);
};
const plain = (pieces) => pieces.map(([text]) => text).join("");
const many = (number, name) => `${number.toLocaleString("en")} ${name}${number === 1 ? "" : "s"}`;
const clockText = (s) => {
  const tenths = Math.round(s * 10) / 10;
  const minutes = Math.floor(tenths / 60);
  return `${minutes}:${(tenths % 60).toFixed(1).padStart(4, "0")}`;
};
const shuffled = (items) => {
  const mixed = [...items];
  for (let at = mixed.length - 1; at > 0; at -= 1) {
    const other = Math.floor(Math.random() * (at + 1));
    [mixed[at], mixed[other]] = [mixed[other], mixed[at]];
  }
  return mixed;
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

// The result of a cell as an element; the source depends on the tag itself.
const makeMedium = (cell, poster, { preload = "none", label = "" } = {}) => {
  if (cell.medium === "image") {
    const image = make("img", "mk-wall-medium");
    image.loading = "lazy";
    image.alt = label;
    image.src = cell.url;
    return image;
  }
  const player = make(cell.medium === "audio" ? "audio" : "video", "mk-wall-medium");
  player.preload = preload;
  if (label) player.setAttribute("aria-label", label);
  if (cell.medium === "audio") {
    player.controls = true;
  } else {
    player.setAttribute("muted", "");
    player.muted = player.loop = player.playsInline = true;
    if (poster) player.poster = poster;
  }
  player.src = cell.url;
  return player;
};
// A player whose file the browser cannot play plays the copy that the kernel makes of it.
// A video without a picture is not an error for a browser (H.265 with sound).
// Returns what asks for the copy; it is asked for at once unless `waitsForPlay`.
const playCopy = (wall, cell, medium, { waits, plays, fails, waitsForPlay = false }) => {
  const isOwn = () => medium.getAttribute("src") === cell.url;
  const copy = async () => {
    waits?.();
    const { url, problem } = await wall.copyOf(cell);
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
// Gives back the connection and the memory of a player that is not needed any more.
const letGo = (player) => {
  if (!player.pause) return;
  player.pause();
  player.removeAttribute("src");
  player.load();
};
const isPlayer = (element) => ["VIDEO", "AUDIO"].includes(element?.tagName);
const isShown = (cell) => cell.status === "completed" && Boolean(cell.url);
const judged = (cell) =>
  [cell.rating ? `${cell.rating} of ${BEST} stars` : "", cell.keep ? "kept" : ""].filter(Boolean);
const starsText = (rating = 0) => "★".repeat(rating) + "☆".repeat(BEST - rating);
