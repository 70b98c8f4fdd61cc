import { afterAll, beforeAll, expect, test } from 'vitest';
import { countErrors } from '../eval/error-rate.ts';
import { DEFAULT_SET, readSet } from '../eval/sets.ts';
import { wavFile } from '../support/audio/wav.ts';
import { upload } from '../support/service/api.ts';
import { type RealService, startRealService } from '../support/service/real-service.ts';

let service: RealService;
beforeAll(async () => {
  service = await startRealService({ ASR_MODEL: 'bundled' });
}, 40_000);
afterAll(() => service.stop());

// Measured: 16 % of the characters. The small CTC model, which was the bundled one before, gets 75 % wrong.
test('of real people, the bundled model gets less than a quarter of the characters wrong, and some sentences right', async () => {
  const all = { wrong: 0, total: 0, right: 0 };
  for (const { pcm, truth } of await readSet(DEFAULT_SET)) {
    const { status, body } = await upload(service.origin, wavFile(pcm));
    expect(status).toBe(200);
    const { wrong, total } = countErrors(truth, String(body['text']));
    all.wrong += wrong;
    all.total += total;
    all.right += wrong === 0 ? 1 : 0;
  }
  expect(all.total).toBe(175);
  expect(all.wrong / all.total).toBeLessThan(0.25);
  expect(all.right).toBeGreaterThanOrEqual(3);
}, 180_000);
