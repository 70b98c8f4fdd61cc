/** Stands for speech: noise that is the same every time. Four syllables a second, whose edges are 20 dB lower. */
export function spoken(seconds: number): Int16Array {
  return noise(seconds, 8_000).map(
    (sample, n) => sample * (0.1 + 0.9 * Math.abs(Math.sin((Math.PI * n) / 4_000))),
  );
}

/** Noise of this amplitude; a little of it is a pause. */
export function noise(seconds: number, amplitude = 40, seed = 1): Int16Array {
  let state = seed;
  return Int16Array.from({ length: Math.round(seconds * 16_000) }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return Math.round((state / 2 ** 31) * amplitude);
  });
}

/** Whether two recordings are the same. A test that compares them number by number takes half a minute. */
export const isSame = (one: Int16Array, other: Int16Array): boolean =>
  Buffer.from(one.buffer, one.byteOffset, one.byteLength).equals(
    Buffer.from(other.buffer, other.byteOffset, other.byteLength),
  );
