import { Deferred } from '../../common/time/deferred.ts';

/** What has come until somebody reads it: the partials of a session, the pieces of a transcript. */
export class Unread<T> {
  readonly #unread: T[] = [];
  #end: { readonly failure?: { readonly reason: unknown } } | undefined;
  #news = new Deferred<void>();

  push(item: T): void {
    this.#unread.push(item);
    this.#tell();
  }

  /** Nothing follows; readers end. */
  finish(): void {
    this.#end = {};
    this.#tell();
  }

  /** Nothing follows; readers throw `reason`. */
  fail(reason: unknown): void {
    this.#end = { failure: { reason } };
    this.#tell();
  }

  async *read(): AsyncGenerator<T, void, void> {
    for (;;) {
      const item = this.#unread.shift();
      if (item !== undefined) yield item;
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
