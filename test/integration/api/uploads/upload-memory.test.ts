import { once } from 'node:events';
import { type ClientRequest, request } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { wavFile } from '../../../support/audio/wav.ts';
import { AUTHORIZED, upload } from '../../../support/service/api.ts';
import { scriptedPcm } from '../../../support/service/scripted-recognizer.ts';
import { TestService } from '../../../support/service/service.ts';

const wav = wavFile(scriptedPcm(0.5));

/** An upload of 400 kB that does not finish. */
async function unfinished(origin: string): Promise<ClientRequest> {
  const type = 'multipart/form-data; boundary=x';
  const headers = { ...AUTHORIZED, 'content-type': type, 'content-length': 400_000 };
  const sent = request(`${origin}/v1/audio/transcriptions`, { method: 'POST', headers });
  sent.on('error', () => undefined);
  sent.write(Buffer.alloc(1_000));
  await once(sent, 'socket');
  return sent;
}

// Seen in a test of attacks with the token: 800 such uploads ended a process that had 384 MiB.
test('bodies of uploads are bounded in bytes, all together; what ends gives its memory back', async () => {
  const service = await TestService.start({ env: { ASR_UPLOAD_MEMORY_MB: '1' } });
  onTestFinished(() => service.stop());
  const { origin } = service.api;
  const two = [await unfinished(origin), await unfinished(origin)];
  onTestFinished(() => two.forEach((sent) => void sent.destroy()));
  const third = await unfinished(origin);
  const [refusal] = await once(third, 'response');
  expect([refusal.statusCode, refusal.headers['retry-after']]).toEqual([503, '1']);
  expect(JSON.parse(Buffer.concat(await refusal.toArray()).toString())).toEqual({
    error: 'not_ready',
    message: 'too many uploads at once; try again shortly',
  });
  const line = await service.api.logged(({ status }) => status === 503);
  expect(line).toMatchObject({ code: 'too_many_uploads' });
  expect(await service.api.metrics.registry.metrics()).toMatch(
    /asr_http_requests_total\{route="\/v1\/audio\/transcriptions",status="503",code="too_many_uploads"\} 1/,
  );
  // A small one still fits.
  expect((await upload(origin, wav)).status).toBe(200);

  two[0]?.destroy();
  await service.api.logged(({ code }) => code === 'client_gone');
  const next = await unfinished(origin);
  next.end(Buffer.alloc(399_000));
  const [answer] = await once(next, 'response');
  expect(answer.statusCode).toBe(422);
});
