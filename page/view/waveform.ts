import { FRAME_SAMPLES } from '../../client/audio/frames.ts';
import { MAX_RECORDING_SAMPLES } from '../../common/audio/limits.ts';

/** One scale for all up to 15 s, with a place for every 100 ms. A longer recording fills the whole width. */
export const SLOTS = MAX_RECORDING_SAMPLES / FRAME_SAMPLES;

/** Bars of loudness along the time, in the canvas's text colour. What is still free (or not played yet) is pale. */
export class Waveform {
  readonly #canvas: HTMLCanvasElement;
  #levels: readonly number[] = [];
  /** The part of the bars in full colour, 0 to 1. */
  #played = 1;

  constructor(canvas: HTMLCanvasElement) {
    this.#canvas = canvas;
    new ResizeObserver(() => this.#draw()).observe(canvas);
    Waveform.#redrawInColour(new WeakRef(this));
  }

  /**
   * The browser keeps a list with a listener for ever, and all that the listener holds. That must not be the
   * recording behind this.
   */
  static #redrawInColour(held: WeakRef<Waveform>): void {
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
      const waveform = held.deref();
      if (waveform) waveform.#draw();
    });
  }

  show(levels: readonly number[], played = 1): void {
    this.#levels = levels.length > SLOTS ? loudest(levels) : levels;
    this.#played = played;
    this.#draw();
  }

  #draw(): void {
    const { clientWidth: width, clientHeight: height } = this.#canvas;
    const context = this.#canvas.getContext('2d');
    if (context === null || width === 0) return;
    this.#canvas.width = width * devicePixelRatio;
    this.#canvas.height = height * devicePixelRatio;
    context.scale(devicePixelRatio, devicePixelRatio);
    context.fillStyle = getComputedStyle(this.#canvas).color;
    const slotWidth = width / SLOTS;
    const barWidth = Math.max(1, Math.min(4, slotWidth * 0.6));
    for (let n = 0; n < SLOTS; n += 1) {
      const level = this.#levels[n] ?? 0;
      const barHeight = Math.max(barWidth, level ** 1.5 * height);
      const full = n < this.#levels.length * this.#played;
      context.globalAlpha = full ? 1 : 0.25;
      context.beginPath();
      context.roundRect(
        (n + 0.5) * slotWidth - barWidth / 2,
        (height - barHeight) / 2,
        barWidth,
        barHeight,
        barWidth / 2,
      );
      context.fill();
    }
  }
}

/** @returns the loudest level of each of the places */
const loudest = (levels: readonly number[]): number[] =>
  Array.from({ length: SLOTS }, (_, n) => {
    const [from, to] = [n, n + 1].map((place) => Math.floor((place * levels.length) / SLOTS));
    return Math.max(...levels.slice(from, to));
  });
