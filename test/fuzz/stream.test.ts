import { afterAll, beforeAll, test } from 'vitest';
import { mustHold } from './fuzz.ts';
import { FuzzService } from './service.ts';
import { streams } from './streams.ts';

let service: FuzzService;
beforeAll(async () => {
  service = await FuzzService.start();
});
afterAll(async () => service.stop());

test(streams.name, { timeout: 120_000 }, async () => mustHold(streams, service));
