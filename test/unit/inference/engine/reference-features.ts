/*
 * Log-mel features written down a second time, straight from their definitions and with nothing but plain sums in double
 * precision, to judge the engine's. Slow on purpose.
 */

const SHIFT = 160;
const LENGTH = 400;
const BANDS = 80;

/** Samples of frame f, which begins `leftEdge` before 160 f, mirrored in front of the first one: at its edge, or about it. */
function frameAt(
  samples: Float32Array,
  f: number,
  leftEdge = (LENGTH - SHIFT) / 2,
  edge: 0 | 1 = 1,
): number[] {
  return Array.from({ length: LENGTH }, (_, i) => {
    const at = SHIFT * f - leftEdge + i;
    return samples[at < 0 ? -at - edge : at] ?? 0;
  });
}

/** |DFT|² at the first `bins` of `size` points. */
function powerSpectrum(frame: readonly number[], size: number, bins: number): number[] {
  return Array.from({ length: bins }, (_, k) => {
    let re = 0;
    let im = 0;
    for (const [n, value] of frame.entries()) {
      const angle = (2 * Math.PI * ((k * n) % size)) / size;
      re += value * Math.cos(angle);
      im -= value * Math.sin(angle);
    }
    return re ** 2 + im ** 2;
  });
}

/** @returns the energies of triangles whose corners are at these places on the axis that `position` gives. */
function bandEnergies(
  power: readonly number[],
  corners: readonly number[],
  position: (bin: number) => number,
): number[] {
  return Array.from({ length: corners.length - 2 }, (_, band) => {
    const [left = 0, centre = 0, right = 0] = corners.slice(band, band + 3);
    let energy = 0;
    for (const [bin, value] of power.entries()) {
      const at = position(bin);
      const rising = (at - left) / (centre - left);
      const falling = (right - at) / (right - centre);
      energy += Math.max(0, Math.min(rising, falling)) * value;
    }
    return energy;
  });
}

interface KaldiDefinition {
  /** By the cosine of the sample's place in the frame. */
  readonly window: (cosine: number) => number;
  readonly highHz: number;
  readonly scale: number;
  readonly leftEdge: number;
}

const ICEFALL: KaldiDefinition = {
  window: (cosine) => (0.5 - 0.5 * cosine) ** 0.85,
  highHz: 7600,
  scale: 1,
  leftEdge: (LENGTH - SHIFT) / 2,
};
export const SENSE_VOICE: KaldiDefinition = {
  window: (cosine) => 0.54 - 0.46 * cosine,
  highHz: 8000,
  scale: 32_768,
  leftEdge: 0,
};

export function referenceKaldi(
  samples: Float32Array,
  frames: number,
  { window, highHz, scale, leftEdge }: KaldiDefinition = ICEFALL,
): number[][] {
  const mel = (hz: number): number => 1127 * Math.log(1 + hz / 700);
  const corners = Array.from(
    { length: BANDS + 2 },
    (_, i) => mel(20) + ((mel(highHz) - mel(20)) * i) / (BANDS + 1),
  );
  return Array.from({ length: frames }, (_, f) => {
    const raw = frameAt(samples, f, leftEdge).map((value) => scale * value);
    const mean = raw.reduce((sum, value) => sum + value, 0) / LENGTH;
    const centred = raw.map((value) => value - mean);
    const emphasised = centred.map((value, i) => value - 0.97 * (centred[Math.max(0, i - 1)] ?? 0));
    const windowed = emphasised.map((value, i) => value * window(Math.cos((2 * Math.PI * i) / (LENGTH - 1))));
    const power = powerSpectrum(windowed, 512, 256);
    const energies = bandEnergies(power, corners, (bin) => mel((16_000 / 512) * bin));
    return energies.map((energy) => Math.log(Math.max(energy, 1.1920929e-7)));
  });
}

/** Before the step's own normalisation. @param centred frame f on sample 160 f, as Whisper itself has it */
export function referenceWhisper(
  samples: Float32Array,
  frames: number,
  { bands = BANDS, centred = false } = {},
): number[][] {
  // Slaney's scale: 3 mel every 200 Hz up to 1000 Hz, then 27 mel every factor of 6.4.
  const top = 15 + (27 * Math.log(8)) / Math.log(6.4);
  const hz = (mel: number): number => (mel < 15 ? (200 * mel) / 3 : 1000 * 6.4 ** ((mel - 15) / 27));
  const corners = Array.from({ length: bands + 2 }, (_, i) => hz((top * i) / (bands + 1)));
  return Array.from({ length: frames }, (_, f) => {
    const raw = centred ? frameAt(samples, f, LENGTH / 2, 0) : frameAt(samples, f);
    const windowed = raw.map((value, i) => value * (0.5 - 0.5 * Math.cos((2 * Math.PI * i) / LENGTH)));
    const power = powerSpectrum(windowed, LENGTH, LENGTH / 2 + 1);
    const energies = bandEnergies(power, corners, (bin) => (16_000 / LENGTH) * bin);
    return energies.map((energy, band) => {
      const width = (corners[band + 2] ?? 0) - (corners[band] ?? 0);
      return Math.log10(Math.max((2 * energy) / width, 1e-10));
    });
  });
}
