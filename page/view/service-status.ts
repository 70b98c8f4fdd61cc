import { delay } from '../../client/protocol/waiting.ts';
import type { Now } from '../recording/now.ts';
import { asFailure, type Failure } from '../service/failures.ts';
import { readiness, serviceFor } from '../service/service.ts';
import type { Language } from '../texts/language.ts';
import type { StatusWord } from '../texts/texts.ts';
import { find } from './elements.ts';
import { ModelLine } from './model-line.ts';

/** Somebody else's recording mostly takes longer. */
const LOOK_EVERY_MS = 2_000;
/** The waits between looks at a service that is not ready grow from the first to the longest. */
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 8_000;

const answers = (status: StatusWord): boolean => status === 'ready' || status === 'busy';

/** The service's state beside the title. It is followed while there is a token. */
export class ServiceStatus {
  readonly #element = find('p#status');
  readonly #language: Language;
  readonly #model: ModelLine;
  readonly #accepted: () => void;
  readonly #refused: (failure: Failure) => void;
  #abort = new AbortController();
  /** Whether the service has yet to take the token that was entered. */
  #entered = false;
  #status: StatusWord = 'no_token';
  #shown: StatusWord | undefined;
  #answered = false;
  #own: StatusWord | undefined;

  /**
   * @param accepted called once for each token entered, when the service has taken it.
   * @param refused called with `unauthorized` or `forbidden`; nothing is asked after it.
   */
  constructor(language: Language, accepted: () => void, refused: (failure: Failure) => void) {
    this.#language = language;
    this.#model = new ModelLine(language);
    this.#accepted = accepted;
    this.#refused = refused;
  }

  /** This is known of it now. */
  found(status: StatusWord): void {
    this.#status = status;
    this.#render();
  }

  /** While this page itself uses the service, that is its state. If the page waits, the slot is somebody else's. */
  show({ state }: Now): void {
    this.#own = state === 'recording' || state === 'recognizing' ? state : undefined;
    this.#render();
  }

  /** There is no token to ask with. */
  stop(): void {
    this.#abort.abort();
    this.found('no_token');
  }

  /** Begins with a token that was entered. */
  follow(token: string): void {
    this.#entered = true;
    this.found('checking');
    this.#begin(token);
  }

  /** Looks at once, when something has told of the service's state. */
  look(token: string): void {
    if (answers(this.#status)) this.found('checking');
    this.#begin(token);
  }

  #begin(token: string): void {
    this.#abort.abort();
    this.#abort = new AbortController();
    this.#follow(token, this.#abort.signal).catch(() => {
      // Ended by `stop`, or by what has begun since.
    });
  }

  async #follow(token: string, signal: AbortSignal): Promise<void> {
    for (let waitMs = FIRST_WAIT_MS; ; ) {
      try {
        this.found(await readiness(serviceFor(token), signal));
        if (this.#entered) this.#accepted();
        this.#entered = false;
      } catch (error) {
        signal.throwIfAborted();
        const failure = asFailure(error);
        if (failure.kind === 'unauthorized' || failure.kind === 'forbidden') {
          this.found('no_token');
          this.#refused(failure);
          return;
        }
        this.found('unreachable');
      }
      const answered = answers(this.#status);
      await delay(answered ? LOOK_EVERY_MS : waitMs, signal);
      waitMs = answered ? FIRST_WAIT_MS : Math.min(LONGEST_WAIT_MS, 2 * waitMs);
    }
  }

  #render(): void {
    const isAnswering = answers(this.#status);
    if (isAnswering !== this.#answered) {
      if (isAnswering) void this.#model.ask();
      else this.#model.hide();
    }
    this.#answered = isAnswering;
    const isOwn = isAnswering || this.#status === 'checking';
    const status = (isOwn ? this.#own : undefined) ?? this.#status;
    // A screen reader would read the same words again.
    if (status === this.#shown) return;
    this.#shown = status;
    this.#element.dataset['status'] = status;
    this.#language.say(this.#element, (texts) => texts.status[status]);
  }
}
