/** `seconds` of a tone with amplitude 0.5, one number a sample. */
export function tone(hz: number, rateHz: number, seconds: number): number[] {
  return Array.from(
    { length: Math.round(rateHz * seconds) },
    (_, n) => 0.5 * Math.sin((2 * Math.PI * hz * n) / rateHz),
  );
}

/** @param write puts one value at a byte offset. @param bytes of one sample */
export function pack(
  samples: readonly number[],
  bytes: number,
  write: (to: Buffer, value: number, at: number) => void,
): Buffer {
  const packed = Buffer.alloc(samples.length * bytes);
  for (const [n, value] of samples.entries()) write(packed, value, n * bytes);
  return packed;
}
