import { Deferred } from '../protocol/waiting.ts';
import type { StreamPartial } from '../protocol/wire.ts';

/** Partials from their arrival until the session's user reads them. */
export class UnreadPartials {
  readonly #unread: StreamPartial[] = [];
  #end: { readonly failure?: { readonly reason: unknown } } | undefined;
  #news = new Deferred<void>();

  push(partial: StreamPartial): void {
    this.#unread.push(partial);
    this.#tell();
  }

  /** No partial follows; readers end. */
  finish(): void {
    this.#end = {};
    this.#tell();
  }

  /** No partial follows; readers throw `reason`. */
  fail(reason: unknown): void {
    this.#end = { failure: { reason } };
    this.#tell();
  }

  async *read(): AsyncGenerator<StreamPartial, void, void> {
    for (;;) {
      const partial = this.#unread.shift();
      if (partial !== undefined) yield partial;
      else if (this.#end === undefined) await this.#news.promise;
      else if (this.#end.failure === undefined) return;
      else throw this.#end.failure.reason;
    }
  }

  #tell(): void {
    this.#news.resolve();
    this.#news = new Deferred<void>();
  }
}
