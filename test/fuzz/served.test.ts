import { afterAll, beforeAll, test } from 'vitest';
import { ALL } from './all.ts';
import { mustHold } from './fuzz.ts';
import { FuzzService } from './service.ts';

let service: FuzzService;
beforeAll(async () => {
  service = await FuzzService.start();
});
afterAll(async () => service.stop());

test.each(ALL.filter(({ served }) => served))('$name', { timeout: 120_000 }, async (fuzz) =>
  mustHold(fuzz, service),
);
