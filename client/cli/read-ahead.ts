import { ReadableStream } from 'node:stream/web';
import { MAX_RECORDING_SAMPLES } from '../../common/audio/limits.ts';

/**
 * Reads on while nobody takes the samples yet: a recorder that is not read from drops what it hears. At most
 * 15 s are kept here; what is handed on is kept elsewhere.
 * @returns the same samples. Whoever leaves them does not wait for the source: its next ones may never come
 */
export function readAhead(samples: AsyncIterable<Int16Array>): AsyncIterable<Int16Array> {
  const pieces = samples[Symbol.asyncIterator]();
  return new ReadableStream<Int16Array>(
    {
      async pull(stream) {
        const { done, value } = await pieces.next();
        if (done) stream.close();
        else stream.enqueue(value);
      },
    },
    { highWaterMark: MAX_RECORDING_SAMPLES + 1, size: ({ length }) => length },
  );
}
