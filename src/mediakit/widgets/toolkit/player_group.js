// Several players as one: they start, stop and seek together, and stay together.

const FRAME_S = 1 / 24;
const CLOSE_S = 0.004;
const FAR_S = 0.4;
const LOAD_MS = 20_000;
const SEEK_MS = 8000;
const CORRECT_EVERY_MS = 80;
const CORRECT_BY = 3;
const CORRECT_AT_MOST = 0.35;

class PlayerGroup {
  // `changed` is called when the position or the state has changed.
  constructor(players, changed) {
    this.players = players;
    this.changed = changed;
    this.playing = false;
    this.seekNumber = 0;
    this.seeking = false;
    this.settled = Promise.resolve();
  }

  close() {
    this.pause();
    this.seekNumber += 1;
    for (const player of this.players) letGo(player);
  }

  get usable() {
    return this.players.filter((player) => !player.error && player.duration > 0);
  }

  get lengthS() {
    return Math.max(0, ...this.usable.map((player) => player.duration));
  }

  // The position of most players; those that have ended wait at their end.
  get atS() {
    const going = this.usable.filter((player) => !this.isOver(player));
    if (!going.length) return this.lengthS;
    const times = going.map((player) => player.currentTime).sort((a, b) => a - b);
    return times[Math.floor(times.length / 2)];
  }

  isOver(player) {
    return player.ended || player.currentTime >= player.duration - FRAME_S / 2;
  }

  async load() {
    const waits = this.players.map((player) => {
      player.loop = false;
      player.preload = "auto";
      if (player.readyState >= 2 || player.error) return null;
      return waitForEvent(player, ["loadeddata", "error"], LOAD_MS);
    });
    await Promise.all(waits);
    this.changed();
  }

  play() {
    this.playing = true;
    return this.seek(this.atS >= this.lengthS - FRAME_S ? 0 : this.atS);
  }

  pause() {
    this.playing = false;
    clearInterval(this.corrector);
    for (const player of this.players) player.pause();
    this.changed();
  }

  toggle() {
    return this.playing ? this.pause() : this.play();
  }

  // All players pause, seek, and continue only when all have arrived.
  seek(s) {
    this.seekNumber += 1;
    const number = this.seekNumber;
    clearInterval(this.corrector);
    this.seeking = true;
    this.goal = s;
    this.changed();
    this.settled = this.seekAll(s, number);
    return this.settled;
  }

  async seekAll(s, number) {
    const players = this.usable;
    for (const player of players) {
      player.pause();
      player.playbackRate = 1;
    }
    await Promise.all(players.map((player) => this.bring(player, s)));
    if (number !== this.seekNumber) return;
    this.seeking = false;
    if (this.playing) await this.start();
    this.changed();
  }

  async bring(player, s) {
    const to = Math.max(0, Math.min(s, player.duration - FRAME_S / 2));
    if (Math.abs(player.currentTime - to) > 0.0005 || player.seeking) {
      player.currentTime = to;
      await waitForEvent(player, ["seeked", "error"], SEEK_MS);
    }
    const isNearEnd = to > player.duration - 2 * FRAME_S;
    if (player.readyState < 3 && !isNearEnd && this.playing)
      await waitForEvent(player, ["canplay", "error"], SEEK_MS);
  }

  async start() {
    const going = this.usable.filter((player) => !this.isOver(player));
    if (!going.length) return this.pause();
    await Promise.all(going.map((player) => player.play().catch(() => {})));
    clearInterval(this.corrector);
    this.corrector = setInterval(() => this.correct(), CORRECT_EVERY_MS);
    return undefined;
  }

  // A player that is ahead plays a little slower for a while, one that is behind faster.
  correct() {
    const going = this.usable.filter((player) => !this.isOver(player));
    if (!going.length) {
      this.seek(0);
      return;
    }
    const at = this.atS;
    for (const player of going) {
      const ahead = player.currentTime - at;
      if (Math.abs(ahead) > FAR_S && !player.seeking) player.currentTime = at;
      const by = Math.max(-CORRECT_AT_MOST, Math.min(CORRECT_AT_MOST, ahead * CORRECT_BY));
      player.playbackRate = Math.abs(ahead) < CLOSE_S ? 1 : 1 - by;
    }
    this.changed();
  }
}

// The buttons of several players: one Play or Pause and one position for all.
class Transport {
  constructor(players) {
    this.group = new PlayerGroup(players, () => this.draw());
    this.press = makeButton("Play", "", () => this.group.toggle());
    const traits = { max: 0, step: FRAME_S / 2, value: 0 };
    this.slider = makeSlider("Position of all videos, in seconds", traits);
    this.slider.addEventListener("input", () => this.group.seek(Number(this.slider.value)));
    this.time = make("span", "mk-quiet");
    this.root = makeBox("mk-row mk-transport", this.press, this.slider, this.time);
    this.draw();
  }

  load() {
    return this.group.load();
  }

  close() {
    cancelAnimationFrame(this.frame);
    this.group.close();
  }

  step(frames) {
    const { group } = this;
    const at = group.seeking ? group.goal : group.atS;
    const to = Math.max(0, Math.min(group.lengthS, at + frames * FRAME_S));
    return group.seek(to);
  }

  draw() {
    const { group } = this;
    if (!this.press) return;
    const length = group.lengthS;
    const at = group.seeking ? group.goal : group.atS;
    write(this.press, group.playing ? "Pause" : "Play");
    this.press.disabled = this.slider.disabled = !length;
    if (this.slider.max !== String(length)) this.slider.max = length;
    if (!group.seeking) this.slider.value = at;
    write(this.time, length ? `${clockText(at)} / ${clockText(length)}` : "loading …");
    this.slider.setAttribute("aria-valuetext", `${at.toFixed(2)} of ${length.toFixed(2)} s`);
  }
}
