// Brings a job that was just asked for into view, once, and pictures to their own size
// on a click.

function render({ model, el }) {
  const job = () => el.closest(".mk-job");
  let timer = requestAnimationFrame(function look() {
    const card = job();
    if (!card?.offsetHeight) timer = requestAnimationFrame(look);
    else arrive(model, card);
  });
  return () => cancelAnimationFrame(timer);
}

function arrive(model, card) {
  card.addEventListener("click", enlarge);
  if (!model.get("arrives")) return;
  model.set("arrives", false);
  model.save_changes();
  const { top, bottom, height } = card.getBoundingClientRect();
  const room = sight(card);
  if (top >= room.top && bottom <= room.bottom) return;
  const block = height > room.bottom - room.top ? "start" : "nearest";
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  card.scrollIntoView({ block, behavior: calm ? "auto" : "smooth" });
}

// The part of the page in which the card can be seen: that of what scrolls around it.
function sight(card) {
  const room = { top: 0, bottom: innerHeight };
  for (let box = card.parentElement; box; box = box.parentElement) {
    const scrolls = /auto|scroll/.test(getComputedStyle(box).overflowY);
    if (scrolls && box.scrollHeight > box.clientHeight) {
      const { top, bottom } = box.getBoundingClientRect();
      room.top = Math.max(room.top, top);
      room.bottom = Math.min(room.bottom, bottom);
    }
  }
  return room;
}

function enlarge(event) {
  const link = event.target.closest(".mk-job-stage a:has(img)");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const dialog = document.createElement("dialog");
  dialog.className = "mk-own-size";
  dialog.setAttribute("aria-label", "The picture at its own size");
  dialog.style.cssText =
    "padding:0;border:none;max-width:96vw;max-height:94vh;overflow:auto;" +
    "background:var(--jp-layout-color1);color:var(--jp-ui-font-color1)";
  const bar = document.createElement("div");
  bar.style.cssText =
    "position:sticky;top:0;left:0;display:flex;gap:12px;align-items:center;" +
    "padding:8px 12px;background:var(--jp-layout-color1);font-size:13px";
  const close = document.createElement("button");
  close.type = "button";
  close.textContent = "Close";
  close.className = "jupyter-widgets jupyter-button widget-button";
  const size = document.createElement("span");
  const picture = document.createElement("img");
  picture.alt = link.querySelector("img").alt;
  picture.style.cssText = "display:block;max-width:none;margin:0";
  picture.addEventListener("load", () => {
    const { naturalWidth, naturalHeight } = picture;
    size.textContent = `${naturalWidth} × ${naturalHeight} pixels`;
  });
  picture.src = link.href;
  bar.append(close, size);
  dialog.append(bar, picture);
  dialog.addEventListener("click", ({ target }) => {
    if (target === dialog || target === close || target === picture) dialog.close();
  });
  dialog.addEventListener("close", () => {
    dialog.remove();
    link.focus();
  });
  document.body.append(dialog);
  dialog.showModal();
}

export default { render };
