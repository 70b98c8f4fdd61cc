import { delay } from '../../client/protocol/waiting.ts';
import { asFailure, type Failure } from '../service/failures.ts';
import { readiness } from '../service/service.ts';
import type { Status, Texts } from '../texts/texts.ts';
import { find } from './elements.ts';
import { ModelName } from './model-name.ts';

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 8_000;
/** A service that goes away can still say so once, while it finishes. */
const READY_ANSWERS = 2;

/** The service's state beside the title. While it is not ready it is asked again, ever more rarely. */
export class ServiceStatus {
  readonly #element = find('p#status');
  readonly #texts: Texts;
  readonly #model: ModelName;
  #abort = new AbortController();
  /** In a row; all of them, and nothing is asked any more. */
  #readyAnswers = READY_ANSWERS;

  constructor(texts: Texts) {
    this.#texts = texts;
    this.#model = new ModelName(texts);
  }

  show(status: Status): void {
    // A screen reader would read the same words again.
    if (this.#element.dataset['status'] === status) return;
    this.#element.dataset['status'] = status;
    this.#element.textContent = this.#texts.status[status];
    if (status === 'ready') void this.#model.ask();
    else this.#model.hide();
  }

  /** There is no token to ask with. */
  stop(): void {
    this.#abort.abort();
    this.#readyAnswers = READY_ANSWERS;
    this.show('no_token');
  }

  /**
   * Asks until the service is ready; an earlier watch ends. Without a call to make, one that is under way goes on in its own time instead.
   * @param accepted called once, when the service has taken the token.
   * @param refused called with `unauthorized` or `forbidden`, which end the watch.
   */
  watch(token: string, accepted?: () => void, refused?: (failure: Failure) => void): void {
    const watching = this.#readyAnswers < READY_ANSWERS;
    this.#readyAnswers = 0;
    if (accepted === undefined && watching) return;
    this.#abort.abort();
    this.#abort = new AbortController();
    this.show('checking');
    this.#watch(token, accepted, refused, this.#abort.signal).catch(() => {
      // Ended by a later watch.
    });
  }

  async #watch(
    token: string,
    accepted: (() => void) | undefined,
    refused: ((failure: Failure) => void) | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    let told = false;
    for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(LONGEST_WAIT_MS, 2 * waitMs)) {
      try {
        const status = await readiness(token, signal);
        this.show(status);
        if (!told) accepted?.();
        told = true;
        this.#readyAnswers = status === 'ready' ? this.#readyAnswers + 1 : 0;
        if (this.#readyAnswers === READY_ANSWERS) return;
        if (status === 'ready') waitMs = FIRST_WAIT_MS;
      } catch (error) {
        signal.throwIfAborted();
        const failure = asFailure(error);
        if (failure.kind === 'unauthorized' || failure.kind === 'forbidden') {
          this.#readyAnswers = READY_ANSWERS;
          this.show('no_token');
          refused?.(failure);
          return;
        }
        this.#readyAnswers = 0;
        this.show('unreachable');
      }
      await delay(waitMs, signal);
    }
  }
}
