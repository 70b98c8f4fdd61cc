import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { resultFields } from '../../../../common/sessions/entries.ts';
import type { StreamClient } from '../../../support/clients/stream-client.ts';
import { scriptedPcm, scriptedText } from '../../../support/service/scripted-recognizer.ts';
import { TestService } from '../../../support/service/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await TestService.start();
});
afterEach(() => service.expectNothingLeft());
afterAll(() => service.stop());

describe('frames → invalid_frame, 1008', () => {
  test.each([0, 1, 3, 3_199, 3_201, 3_202, 500_000])('%i bytes', async (bytes) => {
    const client = await service.ready();
    client.audio(Buffer.alloc(bytes));
    expect(await service.refusal(client)).toEqual({ code: 'invalid_frame', closeCode: 1008 });
  });
  test('2 and 3,200 bytes are accepted', async () => {
    const client = await service.ready();
    client.audio(Buffer.alloc(2));
    client.audio(Buffer.alloc(3_200));
    client.end();
    expect((await client.message('final'))['audio_ms']).toBe(100);
  });
});

describe('amount of audio', () => {
  test.each([
    // The first chunk is in a model call, so it waits no more: the replica has heard that when it has heard
    // what is said behind it.
    ['the last model call', 0, 20],
    ['a partial, also where a failover has lost what was said before it', 32_000, 25],
  ])(
    '64,000 bytes waiting for the model behind %s are accepted, 2 more are overloaded',
    async (_what, takenBytes, frames) => {
      const gate = service.recognizer.hold();
      const client = await service.ready();
      client.send(scriptedPcm(0.5));
      await gate.entered;
      const session = `{asr}:session:${client.received[0]?.['session_id']}`;
      const partial = { kind: 'partial', revision: 1, text: '天', takenBytes } as const;
      await service.redis.client.xadd(`${session}:results`, '*', ...resultFields(partial));
      await client.message('partial');
      for (let frame = 0; frame < frames; frame += 1) client.audio(Buffer.alloc(3_200));
      client.audio(Buffer.alloc(2));
      const { code, closeCode } = await service.refusal(client);
      expect({ code, closeCode }).toEqual({ code: 'overloaded', closeCode: 1008 });
      expect((await client.message('error'))['message']).toContain('64002');
      gate.release();
    },
  );

  test('audio that is kept for nobody any more is no reason to call a client in real time too fast', async () => {
    const client = await service.ready();
    client.audio(Buffer.alloc(3_200));
    const session = `{asr}:session:${client.received[0]?.['session_id']}`;
    await expect.poll(() => service.redis.keys(`${session}:lease`)).toHaveLength(1);
    expect(await service.redis.client.del(`${session}:audio`)).toBe(1);
    const sending = setInterval(() => client.audio(Buffer.alloc(3_200)), 100);
    const error = await client.message('error');
    clearInterval(sending);
    expect(error).toMatchObject({ code: 'inference_failed', message: 'the recognition slot was lost' });
    expect(await client.closed()).toBe(1011);
  });

  test('two seconds at once in frames of 2 bytes are taken, in far fewer entries', async () => {
    const pcm = scriptedPcm(2);
    const frames = pcm.length / 2;
    const gate = service.recognizer.hold();
    const client = await service.ready();
    for (let start = 0; start < pcm.length; start += 2) client.audio(pcm.subarray(start, start + 2));
    client.end();
    await gate.entered;
    const [audio = ''] = await service.redis.keys('*:audio');
    const stored = async () => (await service.redis.client.xrevrange(audio, '+', '-', 'COUNT', 1))[0]?.[1];
    await expect.poll(stored, { timeout: 10_000 }).toEqual(['kind', 'end']);
    expect(await service.redis.client.xlen(audio)).toBeLessThan(frames / 10);
    gate.release();
    expect(await client.message('final')).toMatchObject({ text: scriptedText(pcm), audio_ms: 2_000 });
    await client.closed();
  });

  test('480,000 bytes are accepted, 2 more are audio_too_long', async () => {
    const send = async (frames: number): Promise<StreamClient> => {
      const client = await service.ready();
      for (let frame = 1; frame <= frames; frame += 1) {
        client.audio(Buffer.alloc(3_200));
        // Never more than a second ahead of the model.
        if (frame % 10 === 0) await taken(client, frame * 3_200 - 16_000);
      }
      return client;
    };
    const exact = await send(150);
    exact.end();
    expect((await exact.message('final'))['audio_ms']).toBe(15_000);
    await exact.closed();
    const over = await send(150);
    over.audio(Buffer.alloc(2));
    expect(await service.refusal(over)).toEqual({ code: 'audio_too_long', closeCode: 1008 });
  });

  /** Resolves when the session's results say that this much has gone into the model. */
  async function taken(client: StreamClient, bytes: number): Promise<void> {
    const key = `{asr}:session:${client.received[0]?.['session_id']}:results`;
    await expect
      .poll(
        async () => {
          const entries = await service.redis.client.xrevrange(key, '+', '-', 'COUNT', 1);
          const fields = entries[0]?.[1] ?? [];
          return Number(fields[fields.indexOf('takenBytes') + 1] ?? 0);
        },
        { interval: 2 },
      )
      .toBeGreaterThanOrEqual(bytes);
  }
});
