/**
 * A promise with its handles: Node 20 has no `Promise.withResolvers`. If nobody waits for it, its failure does not
 * end the process.
 */
export class Deferred<T> {
  readonly promise: Promise<T>;
  #resolve: (value: T) => void = () => {};
  #reject: (reason: unknown) => void = () => {};

  constructor() {
    this.promise = new Promise<T>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.promise.catch(() => {});
  }

  resolve(value: T): void {
    this.#resolve(value);
  }

  reject(reason: unknown): void {
    this.#reject(reason);
  }
}
