/** Resolves after `durationMs`. @throws the signal's reason when it is or becomes aborted. */
export function delay(durationMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const aborted = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', aborted);
      resolve();
    }, durationMs);
    signal?.addEventListener('abort', aborted, { once: true });
  });
}

/** @returns what `work` gives, whose failure is heard in any case. @throws the signal's reason as soon as it is aborted */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  const done = new AbortController();
  const aborted = new Promise<never>((_, reject) => {
    if (signal?.aborted) reject(signal.reason);
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true, signal: done.signal });
  });
  return Promise.race([aborted, work]).finally(() => done.abort());
}
