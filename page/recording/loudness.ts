/** How loud a piece of audio is, from 0 (−60 dBFS or less) to 1 (full scale), by its root mean square. */
export function loudness(pcm: Int16Array): number {
  let sum = 0;
  for (const sample of pcm) sum += (sample / 32_768) ** 2;
  const decibel = 10 * Math.log10(sum / Math.max(1, pcm.length) + 1e-12);
  return Math.max(0, Math.min(1, 1 + decibel / 60));
}
