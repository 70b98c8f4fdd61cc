import { modelName } from '../service/service.ts';
import type { Language } from '../texts/language.ts';
import { find } from './elements.ts';

/** Which model answers, below the service's state. If that cannot be told, nothing is shown. */
export class ModelLine {
  readonly #element = find('p#model');
  readonly #language: Language;
  #abort = new AbortController();

  constructor(language: Language) {
    this.#language = language;
  }

  /** Asks for it anew: a service that was away may have come back with another model. */
  async ask(): Promise<void> {
    this.hide();
    const { signal } = this.#abort;
    const name = await modelName(signal).catch(() => undefined);
    if (signal.aborted || name === undefined) return;
    this.#language.say(this.#element, ({ model }) => model(name.id, name.family));
  }

  hide(): void {
    this.#abort.abort();
    this.#abort = new AbortController();
    this.#language.say(this.#element, () => '');
  }
}
