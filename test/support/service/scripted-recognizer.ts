import { setTimeout as delay } from 'node:timers/promises';
import {
  InferenceError,
  type ModelInfo,
  type Recognizer,
  type RecognizerStream,
} from '../../../inference/recognizer.ts';

/** Audio behind one character of the scripted text: the size of a model update on the stream. */
const BYTES_PER_CHARACTER = 16_000;
const CHARACTERS = '天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往秋收冬藏闰余成岁律吕调阳云腾致雨露结为霜';

/**
 * The text that a recording has after all of `pcm`: one character for each 500 ms, chosen by a hash of
 * everything up to its end; none for digital silence. The last character is written as `…` until the next one
 * has confirmed it, so partials are also rewritten at their end.
 * @param ended whether `finish()` has been called: what is left over counts, and `。` ends the text.
 */
export function scriptedText(pcm: Uint8Array, ended = true): string {
  let hash = 0x811c9dc5;
  let text = '';
  for (let start = 0; start < pcm.byteLength; start += BYTES_PER_CHARACTER) {
    const chunk = pcm.subarray(start, start + BYTES_PER_CHARACTER);
    if (chunk.byteLength < BYTES_PER_CHARACTER && !ended) break;
    for (const byte of chunk) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
    if (chunk.some((byte) => byte !== 0)) text += CHARACTERS.charAt(hash % CHARACTERS.length);
  }
  if (text === '') return '';
  return ended ? `${text}。` : `${text.slice(0, -1)}${text.slice(-1)}…`;
}

/** Noise that is the same for the same seed: `seconds` of PCM whose every half second gives a character. */
export function scriptedPcm(seconds: number, seed = 1): Buffer {
  const pcm = Buffer.alloc(Math.round(seconds * 16_000) * 2);
  let state = seed;
  for (let index = 0; index < pcm.length; index += 1) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    pcm[index] = (state >>> 16) & 0xff;
  }
  return pcm;
}

export type ModelCall = { readonly kind: 'accept' | 'finish'; readonly bytes: number };

/** A model call that is held: `entered` resolves when it has begun, and it goes on after `release()`. */
export interface Gate {
  readonly entered: Promise<ModelCall>;
  release(): void;
}

interface PendingGate {
  enter(call: ModelCall): void;
  readonly released: Promise<void>;
}

/** A recognizer that follows the contract of the real one, with calls a test can hold and fail. */
export class ScriptedRecognizer implements Recognizer {
  /** Every model call so far, in order. */
  readonly calls: ModelCall[] = [];
  /** Of the model that it plays: decides how updates follow one another. */
  isReDecoding = false;
  /** How long each call takes. */
  callMs = 0;
  /** Called when a model call begins, before a gate holds it. */
  onCall: (call: ModelCall) => void = () => {};
  /** Streams open now; the contract allows one. */
  openStreams = 0;
  readonly #gates: PendingGate[] = [];
  #closed = false;
  readonly #callFailures: Error[] = [];
  readonly #loadFailures: Error[] = [];
  #loadGate: Promise<void> = Promise.resolve();
  #previousStream: Promise<void> = Promise.resolve();

  /** Holds the next model call that no other gate holds. */
  hold(): Gate {
    const entered = deferred<ModelCall>();
    const released = deferred<void>();
    this.#gates.push({ enter: entered.resolve, released: released.promise });
    return { entered: entered.promise, release: () => released.resolve() };
  }

  /** Holds `load()` until the returned function is called. */
  holdLoad(): () => void {
    const released = deferred<void>();
    this.#loadGate = released.promise;
    return () => released.resolve();
  }

  /** Makes the next model call fail. */
  failNextCall(): void {
    this.#callFailures.push(new InferenceError('scripted failure'));
  }

  /** Makes the next `load()` fail. */
  failNextLoad(error: Error): void {
    this.#loadFailures.push(error);
  }

  async load(): Promise<ModelInfo> {
    await this.#loadGate;
    const failure = this.#loadFailures.shift();
    if (failure) throw failure;
    return {
      id: 'scripted',
      family: 'zipformer2-ctc',
      isReDecoding: this.isReDecoding,
      features: 'kaldi',
      vocabularySize: CHARACTERS.length,
      stepMs: 500,
      provider: 'cpu',
      threads: 1,
      loadMs: 0,
    };
  }

  async open(): Promise<RecognizerStream> {
    const before = this.#previousStream;
    const closed = deferred<void>();
    this.#previousStream = before.then(() => closed.promise);
    await before;
    this.openStreams += 1;
    return this.#stream(() => {
      this.openStreams -= 1;
      closed.resolve();
    });
  }

  /** As the engine does: what runs may end, and nothing begins any more. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#previousStream;
  }

  #stream(onClosed: () => void): RecognizerStream {
    const pieces: Uint8Array[] = [];
    let running: Promise<unknown> = Promise.resolve();
    let closing: Promise<void> | undefined;
    const run = (kind: ModelCall['kind'], pcm: Uint8Array): Promise<string> => {
      if (closing) return Promise.reject(new InferenceError('the recording is closed'));
      if (this.#closed) return Promise.reject(new InferenceError('the engine is closed'));
      pieces.push(new Uint8Array(pcm));
      const result = this.#call({ kind, bytes: pcm.byteLength }).then(() =>
        scriptedText(Buffer.concat(pieces), kind === 'finish'),
      );
      running = result.catch(() => {});
      return result;
    };
    return {
      accept: (pcm) => run('accept', pcm),
      finish: (pcm) => run('finish', pcm),
      close: () => {
        closing ??= running.then(onClosed);
        return closing;
      },
    };
  }

  async #call(call: ModelCall): Promise<void> {
    this.calls.push(call);
    const gate = this.#gates.shift();
    const failure = this.#callFailures.shift();
    this.onCall(call);
    gate?.enter(call);
    await gate?.released;
    if (this.callMs > 0) await delay(this.callMs);
    if (failure) throw failure;
  }
}

/** Promise.withResolvers, which Node 20 does not have. */
export function deferred<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
