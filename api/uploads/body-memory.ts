import { MAX_MULTIPART_BYTES } from '../../common/audio/limits.ts';
import { ServiceFailure } from '../../common/errors/errors.ts';

/**
 * The memory for bodies of uploads, from their first byte to the answer. Whoever may send as many as it likes, and
 * finishes none, would otherwise take all the memory there is: 800 ended a process with 384 MiB.
 */
export class BodyMemory {
  readonly #limitBytes: number;
  #takenBytes = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /**
   * @param contentLength the header, at most what a body may have; without one, as much as that is taken
   * @returns gives it back, once
   * @throws ServiceFailure `not_ready` when there is not enough left
   */
  take(contentLength: string | undefined): () => void {
    const bytes = Math.min(Number(contentLength ?? MAX_MULTIPART_BYTES), MAX_MULTIPART_BYTES);
    const message = 'too many uploads at once; try again shortly';
    if (this.#takenBytes + bytes > this.#limitBytes)
      throw new ServiceFailure('not_ready', message, 'too_many_uploads');
    this.#takenBytes += bytes;
    return () => {
      this.#takenBytes -= bytes;
    };
  }
}
