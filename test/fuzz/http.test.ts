import { afterAll, beforeAll, test } from 'vitest';
import { mustHold } from './fuzz.ts';
import { rawHttp } from './raw-http.ts';
import { FuzzService } from './service.ts';
import { uploads } from './uploads.ts';

let service: FuzzService;
beforeAll(async () => {
  service = await FuzzService.start();
});
afterAll(async () => service.stop());

test.each([uploads, rawHttp])('$name', { timeout: 120_000 }, async (fuzz) => mustHold(fuzz, service));
