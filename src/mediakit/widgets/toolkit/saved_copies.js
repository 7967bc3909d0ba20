// Keeps the cards in the notebook current where the kernel's outputs no longer reach
// it: JupyterLab drops them once its page has been reloaded or the notebook has been
// reopened. The kernel lists the current versions; missing or older cards are requested
// and written into the notebook. Outside JupyterLab's notebooks there is nothing to
// write.

const COPY_MARK = /data-card="([0-9a-f]+)" data-version="(\d+)"/;
const WIDGET_VIEW = "application/vnd.jupyter.widget-view+json";
const COPY_PAUSE_MS = 500; // outputs that do arrive have priority

const copiesIn = (cells, { versions, beside }) => {
  const copies = [];
  let place = null; // the outputs of the cell with the cards
  for (const { outputs } of cells) {
    for (let at = 0; at < (outputs?.length ?? 0); at += 1) {
      const { data } = outputs.get(at);
      const [, id, version] = COPY_MARK.exec(String(data?.["text/html"] ?? "")) ?? [];
      if (id in versions) copies.push({ id, version: Number(version), outputs, at });
      if (id in versions || data?.[WIDGET_VIEW]?.model_id === beside) place = outputs;
    }
  }
  return { copies, place };
};

const keepCopies = (model) => {
  const asked = new Map();
  let timer;
  const cells = () => model.widget_manager?.context?.model?.cells ?? [];
  const look = (cards) => {
    const { copies, place } = copiesIn(cells(), cards);
    if (!place) return;
    const isOld = ([id, version]) => {
      const mine = copies.filter((copy) => copy.id === id);
      return asked.get(id) !== version && !(mine.length && mine.every((copy) => copy.version >= version));
    };
    const old = Object.entries(cards.versions).filter(isOld);
    for (const [id, version] of old) asked.set(id, version);
    if (old.length) model.send({ cards: old.map(([id]) => id) });
  };
  const put = (cards) => {
    for (const [id, html, text] of cards.outputs) {
      const { copies, place } = copiesIn(cells(), cards);
      const data = { "text/html": html, "text/plain": text };
      const output = { output_type: "display_data", data, metadata: {} };
      const mine = copies.filter((copy) => copy.id === id);
      for (const { outputs, at } of mine) outputs.set(at, output);
      if (!mine.length) place?.add(output);
    }
  };
  const onMessage = ({ cards }) => {
    if (!cards) return;
    if (cards.outputs) put(cards);
    clearTimeout(timer);
    // Two pages on one notebook do not add the same card at once.
    timer = setTimeout(look, COPY_PAUSE_MS * (1 + Math.random()), cards);
  };
  model.on("msg:custom", onMessage);
  model.send({ cards: [] });
  return () => {
    clearTimeout(timer);
    model.off("msg:custom", onMessage);
  };
};
