import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { Speech } from '../bench/clips.ts';
import { anyFile } from '../fuzz/wav-files.ts';
import { wavFile } from '../support/audio/wav.ts';
import { upload } from '../support/service/api.ts';
import { startRealService } from '../support/service/real-service.ts';

/** `DAMAGED_FILES=2000` takes about a minute. */
const FILES = Number(process.env['DAMAGED_FILES'] ?? 200);
const SEED = 70;

/** A real recording with some bytes changed, cut out or doubled, mostly in its head. */
function damaged(wav: Buffer): fc.Arbitrary<Buffer> {
  const at = fc.oneof({ weight: 3, arbitrary: fc.nat({ max: 60 }) }, fc.nat({ max: wav.length }));
  const damage = fc.record({
    how: fc.constantFrom('changed', 'cut out', 'doubled', 'ends'),
    at,
    bytes: fc.uint8Array({ minLength: 1, maxLength: 40 }),
  });
  return fc.array(damage, { minLength: 1, maxLength: 4 }).map((damages) =>
    damages.reduce((file, { how, at, bytes }) => {
      const [before, behind] = [file.subarray(0, at), file.subarray(at)];
      if (how === 'changed') return Buffer.concat([before, bytes, behind.subarray(bytes.length)]);
      if (how === 'cut out') return Buffer.concat([before, behind.subarray(bytes.length)]);
      return how === 'doubled' ? Buffer.concat([before, behind.subarray(0, bytes.length), behind]) : before;
    }, wav),
  );
}

test(`${FILES} damaged recordings, one after another, are read or refused, and both processes live`, async () => {
  const service = await startRealService();
  onTestFinished(() => service.stop());
  const recording = wavFile(Speech.read().pcm(300));
  const files = fc.sample(fc.oneof(damaged(recording), anyFile), { numRuns: FILES, seed: SEED });
  const statuses = new Map<number, number>();
  for (const file of files) {
    const { status, body } = await upload(service.origin, file);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    expect([200, 400], JSON.stringify(body)).toContain(status);
  }
  expect(statuses.get(200)).toBeGreaterThan(FILES / 10);
  expect(statuses.get(400)).toBeGreaterThan(FILES / 10);
  expect([service.api.child.exitCode, service.inference.child.exitCode]).toEqual([null, null]);
}, 120_000);
