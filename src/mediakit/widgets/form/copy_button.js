// A button that copies a text to the clipboard, and says whether that was possible.

const SHOWN_MS = 2000;
const AT_REST = "Copy";
const REFUSED = "The browser blocked this. Click the code, then press Ctrl+C";

function render({ model, el }) {
  const button = document.createElement("button");
  button.className = "jupyter-widgets jupyter-button widget-button mk-small";
  button.textContent = AT_REST;
  button.setAttribute("aria-live", "polite");
  let timer;
  const say = (text) => {
    clearTimeout(timer);
    button.textContent = text;
    timer = setTimeout(() => (button.textContent = AT_REST), SHOWN_MS);
  };
  button.addEventListener("click", async () => {
    try {
      // Only pages from this machine, or over https, have a clipboard.
      await navigator.clipboard.writeText(model.get("code"));
      say("Copied");
    } catch {
      say(REFUSED);
    }
  });
  el.append(button);
  return () => clearTimeout(timer);
}

export default { render };
