/** @returns milliseconds to a tenth, as logs and answers have them */
export const tenths = (durationMs: number): number => Math.round(10 * durationMs) / 10;
