// The wall of results: pieces that the other parts are made of.
//
// The kernel says what there is; these files draw it and say what was done. All text is
// set as text, never as markup.

const GONE = "The kernel is gone: this is what the wall showed last, and nothing changes it.";
const SLOW = "Waiting for the kernel …";
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
const shuffled = (items) => {
  const mixed = [...items];
  for (let at = mixed.length - 1; at > 0; at -= 1) {
    const other = Math.floor(Math.random() * (at + 1));
    [mixed[at], mixed[other]] = [mixed[other], mixed[at]];
  }
  return mixed;
};
const isShown = (cell) => cell.status === "completed" && Boolean(cell.url);
const judged = (cell) =>
  [cell.rating ? `${cell.rating} of ${BEST} stars` : "", cell.keep ? "kept" : ""].filter(Boolean);
const starsText = (rating = 0) => "★".repeat(rating) + "☆".repeat(BEST - rating);
