import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { countErrors } from '../eval/error-rate.ts';
import { ECHO_DELAY_FRAMES, writeEchoModel } from '../onnx/echo.ts';
import { Weights } from '../onnx/weights.ts';
import { fixtures, SMALL_CTC } from '../support/audio/fixtures.ts';
import { fileFolder } from '../support/machine/folders.ts';
import { LocalEngine } from '../unit/inference/engine/local-engine.ts';
import { pcmBytes } from '../unit/inference/engine/recordings.ts';

const SAMPLES_PER_MS = 16;
const CUTS_MS = [0, 10, 50, 100, 200, 300, 400, 500];
/** A second where nothing else runs; a shared machine may take many times that. */
const LONG = { timeout: 60_000 };

const workDir = fileFolder();

/** Three bursts of noise, the first at sample 0, the last followed by this much silence. */
function bursts(silenceMs: number): Int16Array {
  const random = new Weights(1);
  const burst = Int16Array.from({ length: 150 * SAMPLES_PER_MS }, () => Math.round(random.normal(6000)));
  const gap = new Int16Array(330 * SAMPLES_PER_MS);
  const parts = [burst, gap, burst, gap, burst, new Int16Array(silenceMs * SAMPLES_PER_MS)];
  return Int16Array.from(parts.flatMap((part) => [...part]));
}

describe.each(['zipformer2-ctc', 'zipformer2-transducer'] as const)('%s', (family) => {
  test.each([16, 32, 48, 96, 192])(
    `with steps of %i frames says what it heard last, ${10 * ECHO_DELAY_FRAMES} ms later`,
    LONG,
    async (chunkFrames) => {
      const folder = join(workDir, `${family}-${chunkFrames}`);
      writeEchoModel(folder, family, chunkFrames);
      const engine = await LocalEngine.load(folder);
      const unhurried = await engine.recognize(pcmBytes(bursts(5000)));
      for (const silenceMs of CUTS_MS) {
        const { tokens } = await engine.recognize(pcmBytes(bursts(silenceMs)));
        // Said once for a burst by CTC, once for a frame of it by a transducer.
        expect(tokens.length, `${silenceMs} ms`).toBeGreaterThanOrEqual(3);
        expect(tokens, `${silenceMs} ms`).toEqual(unhurried.tokens);
      }
      await engine.release();
    },
  );
});

describe('the small CTC model', () => {
  let engine: LocalEngine;
  beforeAll(async () => {
    engine = await LocalEngine.load(SMALL_CTC);
  });
  afterAll(() => engine.release());

  test.each(fixtures())(
    'hears all of $name, cut 0 to 500 ms after its last syllable',
    LONG,
    async ({ samples, text }) => {
      const end = speechEnd(samples);
      for (const silenceMs of [0, 50, 200, 500]) {
        const cut = samples.subarray(0, end + silenceMs * SAMPLES_PER_MS);
        expect((await engine.recognize(pcmBytes(cut))).text, `${silenceMs} ms`).toBe(text);
      }
    },
  );

  test.each(fixtures())('hears all of $name from sample 0 on', LONG, async ({ samples, text }) => {
    for (const level of [500, 1500]) {
      const start = samples.findIndex((sample) => Math.abs(sample) > level);
      const { text: heard } = await engine.recognize(pcmBytes(samples.subarray(start)));
      expect(heard, `from a level of ${level} on`).toBe(text);
    }
  });

  test.each(fixtures())(
    'hears the first words of $name behind 1 to 3 s of digital silence',
    LONG,
    async ({ samples, text }) => {
      for (const silenceMs of [1000, 1500, 3000]) {
        const waited = new Int16Array(silenceMs * SAMPLES_PER_MS + samples.length);
        waited.set(samples, silenceMs * SAMPLES_PER_MS);
        const { text: heard } = await engine.recognize(pcmBytes(waited));
        const said = `${silenceMs} ms: ${heard}, not ${text}`;
        expect(heard.slice(0, 3), said).toBe(text.slice(0, 3));
        expect(countErrors(text, heard).wrong, said).toBeLessThanOrEqual(1);
      }
    },
  );
});

/** End of the last 10 ms within 30 dB of the loudest. */
function speechEnd(samples: Int16Array): number {
  const size = 10 * SAMPLES_PER_MS;
  const energies = Array.from({ length: Math.floor(samples.length / size) }, (_, block) =>
    samples.subarray(block * size, (block + 1) * size).reduce((sum, sample) => sum + sample ** 2, 0),
  );
  const floor = Math.max(...energies) / 1000;
  return size * (energies.findLastIndex((energy) => energy > floor) + 1);
}
