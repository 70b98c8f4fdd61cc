import { createHash, timingSafeEqual } from 'node:crypto';

/** A secret that requests carry. Every wrong one takes the same time: hashes of equal length are compared. */
export class BearerToken {
  readonly #hash: Buffer;

  constructor(token: string) {
    this.#hash = hash(token);
  }

  is(token: string): boolean {
    return timingSafeEqual(hash(token), this.#hash);
  }

  /** @param authorization the header's value */
  isIn(authorization: string | undefined): boolean {
    const token = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
    return token !== undefined && this.is(token);
  }
}

function hash(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
