// Elements and texts that all parts of the wall use.
//
// The kernel sends the state; these files draw it and report user actions. All text is
// set as text, never as markup.

const SLOW = "Waiting for the kernel …";
const DELETED = "This result was erased.";
const NO_RESULT = "No result to show";
const ANSWER_MS = 4000;
const BEST = 5;

// A text in pieces; those that differ from the other texts are bold.
const writeMarked = (element, pieces) => {
  const parts = pieces.map(([text, differs]) =>
    make(differs ? "b" : "span", differs ? "mk-wall-differs" : "", text),
  );
  element.replaceChildren(...parts);
};
const plain = (pieces = []) => pieces.map(([text]) => text).join("");
const isShown = (cell) => cell.status === "completed" && Boolean(cell.url);
const isSelectable = (cell) => isShown(cell) || Boolean(cell.retry);
const isGone = async (url) => {
  try {
    const { status, headers } = await fetch(url, { method: "HEAD", credentials: "same-origin" });
    // An HTML page comes from a proxy in between, which does not know the file.
    const isPage = headers.get("Content-Type")?.startsWith("text/html");
    return !isPage && (status === 404 || status === 410);
  } catch {
    return false; // the storage server does not allow requests from pages
  }
};
const judged = (cell) =>
  [cell.rating ? `${cell.rating} of ${BEST} stars` : "", cell.keep ? "kept" : ""].filter(Boolean);
const starsText = (rating = 0) => "★".repeat(rating) + "☆".repeat(BEST - rating);
const openLink = (cell, text) => {
  const link = makeLink(cell.url, text);
  link.setAttribute("aria-label", `Open ${cell.name} in a new tab`);
  return link;
};
