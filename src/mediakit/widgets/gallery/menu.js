// The menu of acts on one result, or on all selected cells in one go. Prices are requested
// when it opens, and each act runs at the price on its button.

const MENU_PX = { width: 300, height: 240 };

class Menu {
  // `cells` are indices; `place` is what it opens at; `first` is the act that has the focus
  // at first.
  constructor(wall, cells, place, first) {
    Object.assign(this, { wall, cells, place, first });
    const [cell] = cells.map((index) => wall.cellAt(index));
    this.name = cells.length > 1 ? `${many(cells.length, "selected cell")}` : cell.name;
    this.root = makeRole("mk-frame mk-wall-menu", "group");
    this.root.setAttribute("aria-label", `Actions for ${this.name}`);
    this.root.popover = "auto";
    this.root.tabIndex = -1;
    this.root.append(make("span", "mk-quiet mk-small-print", "Loading prices …"));
    this.root.addEventListener("toggle", ({ newState }) => newState === "closed" && this.closed());
    this.root.addEventListener("keydown", (event) => this.onKeyDown(event));
    wall.root.append(this.root);
    const { left, bottom } = place.getBoundingClientRect();
    const top = this.isBelowButton ? bottom + 4 : bottom - 20;
    this.root.style.left = `${Math.max(4, Math.min(left, window.innerWidth - MENU_PX.width))}px`;
    this.root.style.top = `${Math.max(4, Math.min(top, window.innerHeight - MENU_PX.height))}px`;
    this.root.showPopover();
    this.root.focus();
    this.fill();
  }

  close() {
    this.root.remove();
  }

  closed() {
    this.root.remove();
    if (this.wall.menu === this) this.wall.menu = null;
    if (this.isBelowButton && !this.place.hidden) this.place.focus();
    else this.wall.focusTile();
  }

  get isBelowButton() {
    return this.place.matches("button");
  }

  async fill() {
    const { wall, cells } = this;
    const { offers = [], error } = await wall.request({ do: "offers", cells });
    if (wall.menu !== this) return;
    const isUse = ({ name }) => name.startsWith("use:");
    const made = (which) => offers.filter(which).map((offer) => this.offer(offer));
    const uses = made(isUse);
    const { label, hint } = wall.acts.use;
    const use = makeButton(label, hint, () => this.show(uses), "mk-wall-offer");
    // A free action comes first and has the focus, so that pressing Enter buys nothing.
    const free = [...(uses.length ? [use] : []), ...made((offer) => !offer.is_paid && !isUse(offer))];
    const paid = made((offer) => offer.is_paid);
    if (cells.length > 1) this.showTogether(free, paid, error);
    else if (free.length || paid.length) this.show([...free, ...paid]);
    else this.root.replaceChildren(make("span", "", error || "There is no action for this result."));
  }

  show(buttons, ...before) {
    this.root.replaceChildren(...before, ...buttons);
    (buttons.find((button) => button.dataset.act === this.first) ?? this.buttons[0]).focus();
  }

  showTogether(free, paid, error) {
    const { wall, cells } = this;
    if (error) wall.complain(error);
    const clear = this.button("Clear the selection", "Select nothing (Escape)", () => wall.selectOnly(new Set()));
    const judging = wall.can.judge ? [this.keepButton(), this.stars()] : [];
    const head = make("span", "mk-quiet mk-small-print", titleCase(this.name));
    this.show([...judging, ...free, ...paid, clear], head);
  }

  button(text, words, act, name = "") {
    const press = () => {
      this.hide();
      act();
    };
    return makeButton(text, words, press, `mk-wall-offer ${name}`);
  }

  hide() {
    this.root.hidePopover();
    this.wall.menuClosedMs = performance.now();
  }

  keepButton() {
    const { wall, cells } = this;
    const { label, key } = wall.acts.keep;
    const text = wall.areKept(cells) ? "Do not keep" : label;
    return this.button(text, `${text} all of them (${key})`, () => wall.keep(cells));
  }

  stars() {
    const { wall, cells } = this;
    const row = makeBox("mk-row mk-wall-rating", make("span", "", wall.acts.rate.label));
    for (let rating = 1; rating <= BEST; rating += 1)
      row.append(this.button("☆", `Rate ${rating} of ${BEST}`, () => wall.judge(cells, { rating })));
    const light = (upTo) => [...row.querySelectorAll("button")].forEach((star, at) => write(star, at < upTo ? "★" : "☆"));
    const follow = ({ target }) => light([...row.querySelectorAll("button")].indexOf(target.closest("button")) + 1);
    for (const name of ["pointerover", "focusin"]) row.addEventListener(name, follow);
    for (const name of ["pointerleave", "focusout"]) row.addEventListener(name, () => light(0));
    return row;
  }

  offer(offer) {
    const { question, is_paid: isPaid, text } = offer;
    const act = (ticked = false) => {
      this.hide();
      this.wall.act(this.cells, offer, ticked);
    };
    const ask = () => {
      const asked = isPaid ? { ...question, yes: text, isPaid } : question;
      showQuestion(this.root, asked, true, act, () => this.root.hidePopover());
    };
    const press = question ? ask : () => act();
    const button = makeButton(text, offer.words, press, `mk-wall-offer ${isPaid ? "mk-paid" : ""}`);
    button.dataset.act = offer.name;
    return button;
  }

  get buttons() {
    return [...this.root.querySelectorAll("button")];
  }

  onKeyDown(event) {
    const by = { ArrowDown: 1, ArrowUp: -1, ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const { buttons } = this;
    if (!by || !buttons.length) return;
    event.preventDefault();
    const at = buttons.indexOf(document.activeElement);
    buttons[(at + by + buttons.length) % buttons.length].focus();
  }
}
