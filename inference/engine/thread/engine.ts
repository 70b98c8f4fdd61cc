import { Deferred } from '../../../common/time/deferred.ts';
import type { LocatedModel } from '../../../models/store/locate.ts';
import { InferenceError, type ModelInfo, type Recognizer, type RecognizerStream } from '../../recognizer.ts';
import type { Hotword } from '../postprocessing/hotword-list.ts';
import { EngineThread, ThreadStream } from './engine-thread.ts';
import type { EngineOptions } from './messages.ts';

export interface OnnxRecognizerOptions extends Omit<EngineOptions, 'model' | 'languageModel'> {
  /** Whether a language model corrects the texts of a model that can judge them; true by default. */
  readonly languageModel?: boolean;
  /**
   * Receives one line when `auto` falls back from CUDA, when a large graph cannot be divided, when the
   * language model cannot be read, and for hot words that the model cannot judge.
   */
  readonly log?: (line: string) => void;
  /** Asked for each recording: a list other than before counts from that recording on. */
  readonly hotwords?: (() => Promise<readonly Hotword[]>) | undefined;
}

/*
 * States:
 *
 *   idle ──load()──▶ loading ──loaded──▶ ready
 *    ▲                  │                  │
 *    └─── failed ───────┴── thread died ───┘  (calls under way fail with InferenceError)
 *
 *   idle, loading, ready ──close()──▶ closed
 *
 * `load()` may be called again whenever the state is idle. The thread is never terminated, because a model
 * run that is cut off takes the whole process with it. It is asked to end, and does so after its run.
 */
type State =
  | { readonly name: 'idle' }
  | { readonly name: 'loading'; readonly thread: EngineThread }
  | { readonly name: 'ready'; readonly thread: EngineThread }
  | { readonly name: 'closed' };

const NEXT: Readonly<Record<State['name'], readonly State['name'][]>> = {
  idle: ['loading', 'closed'],
  loading: ['ready', 'idle', 'closed'],
  ready: ['idle', 'closed'],
  // Closed twice.
  closed: ['closed'],
};

const NO_HOTWORDS: readonly Hotword[] = [];

/** The recognizer of a model in a folder, on a thread of its own. */
export class OnnxRecognizer implements Recognizer {
  readonly #options: Required<OnnxRecognizerOptions>;
  /** What the thread has. */
  #hotwords: readonly Hotword[] = NO_HOTWORDS;
  /** Callers of `open()` in their order; the first one has the stream or is getting it. */
  readonly #turns: Deferred<void>[] = [];
  #state: State = { name: 'idle' };

  constructor(options: OnnxRecognizerOptions) {
    this.#options = { log: () => {}, hotwords: undefined, languageModel: true, ...options };
  }

  async load(model: LocatedModel): Promise<ModelInfo> {
    if (this.#state.name !== 'idle')
      throw new Error(`load() needs an idle engine, this one is ${this.#state.name}`);
    const { providers, threads, languageModel, log } = this.#options;
    const startedAtMs = performance.now();
    const thread = new EngineThread({ model, providers, threads, languageModel }, log);
    this.#to({ name: 'loading', thread });
    void thread.exited.then(() => this.#forget(thread));
    const info = await thread.loaded.catch(async (cause: unknown) => {
      await thread.exited;
      throw cause;
    });
    this.#hotwords = NO_HOTWORDS;
    await this.#sendHotwords(thread);
    if (this.#uses(thread)) this.#to({ name: 'ready', thread });
    return { ...info, loadMs: Math.round(performance.now() - startedAtMs) };
  }

  /** Waits for its turn; `close()` ends the wait with an InferenceError. */
  async open(): Promise<RecognizerStream> {
    const turn = new Deferred<void>();
    this.#turns.push(turn);
    if (this.#turns.length === 1) turn.resolve();
    await turn.promise;
    try {
      if (this.#state.name !== 'ready') throw notReady(this.#state);
      const { thread } = this.#state;
      await this.#sendHotwords(thread);
      await thread.call({ type: 'open' });
      return new ThreadStream(thread, () => this.#endTurn());
    } catch (cause) {
      this.#endTurn();
      throw cause;
    }
  }

  async close(): Promise<void> {
    const state = this.#state;
    this.#to({ name: 'closed' });
    for (const turn of this.#turns.splice(1)) turn.reject(notReady(this.#state));
    if ('thread' in state) await state.thread.shutdown();
  }

  async #sendHotwords(thread: EngineThread): Promise<void> {
    const hotwords = (await this.#options.hotwords?.()) ?? NO_HOTWORDS;
    if (hotwords === this.#hotwords) return;
    await thread.call({ type: 'hotwords', hotwords });
    this.#hotwords = hotwords;
  }

  #endTurn(): void {
    this.#turns.shift();
    this.#turns[0]?.resolve();
  }

  #forget(thread: EngineThread): void {
    if (this.#uses(thread)) this.#to({ name: 'idle' });
  }

  /** Whether it is the one that loads, or is ready. */
  #uses(thread: EngineThread): boolean {
    return 'thread' in this.#state && this.#state.thread === thread;
  }

  #to(next: State): void {
    if (!NEXT[this.#state.name].includes(next.name))
      throw new Error(`engine: ${this.#state.name} → ${next.name} is no transition`);
    this.#state = next;
  }
}

function notReady(state: State): InferenceError {
  return new InferenceError(`no recording can start: the engine is ${state.name}`);
}
