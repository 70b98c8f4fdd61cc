/** The interface's numbers that the page keeps to (the page is compiled alone; a test holds them equal to the server's). */
export const FRAME_SAMPLES = 1_600;
export const BYTES_PER_SAMPLE = 2;
export const MAX_RECORDING_SAMPLES = 240_000;
export const MAX_RECORDING_MS = 15_000;
/** Sending stops while more than this would wait in the browser. */
export const MAX_BUFFERED_BYTES = 64_000;
