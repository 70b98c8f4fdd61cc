import type { DictationState } from '../texts/texts.ts';

/** A press this long is a hold: letting go ends it. A shorter one is a tap: the next one ends it. */
const HOLD_MS = 500;

export interface Pressable {
  state(): DictationState;
  start(): void;
  stop(): void;
}

/** Hold to talk and press to toggle with the same button. Times in ms of one clock. */
export class PressGesture {
  readonly #target: Pressable;
  #startedAtMs: number | undefined;

  constructor(target: Pressable) {
    this.#target = target;
  }

  down(atMs: number): void {
    const state = this.#target.state();
    switch (state) {
      case 'idle':
        this.#startedAtMs = atMs;
        this.#target.start();
        return;
      case 'opening':
      case 'recording':
        this.#target.stop();
        return;
      case 'recognizing':
      case 'waiting':
        return;
      default:
        state satisfies never;
    }
  }

  /** While the browser still asks for the microphone, a release means nothing: the hand had to leave the button to answer. */
  up(atMs: number): void {
    const held = this.#startedAtMs !== undefined && atMs - this.#startedAtMs >= HOLD_MS;
    this.#startedAtMs = undefined;
    if (held && this.#target.state() === 'recording') this.#target.stop();
  }

  /** A press without a length: Enter, or a screen reader's activation. */
  tap(): void {
    this.down(0);
    this.#startedAtMs = undefined;
  }
}
