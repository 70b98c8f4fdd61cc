import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { StreamClient } from '../../../support/clients/stream-client.ts';
import { scriptedPcm } from '../../../support/service/scripted-recognizer.ts';
import { TestService } from '../../../support/service/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await TestService.start();
});
afterEach(() => service.expectNothingLeft());
afterAll(() => service.stop());

describe('order of messages → invalid_sequence, 1008', () => {
  const broken = { code: 'invalid_sequence', closeCode: 1008 };
  test('audio before start', async () => {
    const client = await service.connect();
    client.audio(Buffer.alloc(3_200));
    expect(await service.refusal(client)).toEqual(broken);
  });
  test('a start in a binary frame, as some libraries send bytes: where it belongs is said', async () => {
    const client = await service.connect();
    client.audio(Buffer.from('{"type":"start"}'));
    expect((await client.message('error'))['message']).toContain('"start", which goes in a text frame');
    expect(await service.refusal(client)).toEqual(broken);
  });
  test('a frame that is wrong in itself, before start', async () => {
    const client = await service.connect();
    client.audio(Buffer.alloc(3));
    expect(await service.refusal(client)).toEqual(broken);
  });
  /** Refused while its slot is being taken: the slot comes and goes after the answer, which the next client waits for. */
  async function refusedWhileOpening(client: StreamClient, send: () => void): Promise<void> {
    const before = await service.redis.client.get('{asr}:fence');
    client.start();
    send();
    expect(await service.refusal(client)).toEqual(broken);
    await expect.poll(() => service.redis.client.get('{asr}:fence'), { interval: 2 }).not.toBe(before);
    await service.slotFree();
  }
  test('audio before ready', async () => {
    const client = await service.connect();
    await refusedWhileOpening(client, () => client.audio(Buffer.alloc(3_200)));
  });
  test('end before start', async () => {
    const client = await service.connect();
    client.end();
    expect(await service.refusal(client)).toEqual(broken);
  });
  test('a second start, before and after ready', async () => {
    const early = await service.connect();
    await refusedWhileOpening(early, () => early.start());
    const late = await service.ready();
    late.start();
    expect(await service.refusal(late)).toEqual(broken);
  });
  test('a second start whose fields are wrong too', async () => {
    const client = await service.ready();
    client.start({ sample_rate: 8_000 });
    expect(await service.refusal(client)).toEqual(broken);
  });
  test.each([
    ['audio', (client: StreamClient) => client.audio(Buffer.alloc(2))],
    ['a second end', (client: StreamClient) => client.end()],
    ['a second start', (client: StreamClient) => client.start()],
  ])('%s after end', async (_name, send) => {
    const gate = service.recognizer.hold();
    const client = await service.ready();
    client.audio(scriptedPcm(0.1));
    client.end();
    await gate.entered;
    send(client);
    expect(await service.refusal(client)).toEqual(broken);
    gate.release();
  });
});

test('a first message without a type is shown the right one', async () => {
  const client = await service.connect();
  client.json({ sample_rate: 16_000 });
  const { message } = await client.message('error');
  const example = '{"type":"start","sample_rate":16000,"channels":1,"encoding":"pcm_s16le"}';
  expect(message).toBe(`a control message needs a field "type"; the first one is ${example}`);
});

describe('control messages → invalid_message, 1008', () => {
  // Of every other form: test/fuzz/control-messages.ts.
  test.each([
    ['no JSON', '{'],
    ['no type', '{}'],
    ['a type of the server', '{"type":"ready"}'],
  ])('%s', async (_name, text) => {
    const client = await service.connect();
    client.text(text);
    expect(await service.refusal(client)).toEqual({ code: 'invalid_message', closeCode: 1008 });
  });
  test('a byte order mark in front is ignored (RFC 8259, 8.1)', async () => {
    const client = await service.connect();
    client.text('\uFEFF{"type":"start","sample_rate":16000,"channels":1,"encoding":"pcm_s16le"}');
    await client.message('ready');
    client.text('\uFEFF{"type":"end"}');
    expect(await client.closed()).toBe(1000);
  });
  test('the NUL behind a string of C is named', async () => {
    const client = await service.connect();
    client.text('{"type":"end"}\0');
    expect(await client.message('error')).toMatchObject({
      message:
        'the text frame is not valid JSON; it ends with a NUL character, as a C string does; send it without',
    });
  });
  const startOf = (characters: number, filler: string) => {
    const empty = JSON.stringify({
      type: 'start',
      sample_rate: 16_000,
      channels: 1,
      encoding: 'pcm_s16le',
      note: '',
    });
    return empty.replace('"note":""', `"note":"${filler.repeat(characters - empty.length)}"`);
  };
  test.each(['x', '语', '😀'])('1,024 characters of %s are accepted, 1,025 are not', async (filler) => {
    const most = await service.connect();
    most.text(startOf(1_024, filler));
    await most.message('ready');
    most.close();
    await service.slotFree();
    const over = await service.connect();
    over.text(startOf(1_025, filler));
    expect(await service.refusal(over)).toEqual({ code: 'invalid_message', closeCode: 1008 });
  });
  test('in the middle of a recording', async () => {
    const client = await service.ready();
    client.audio(Buffer.alloc(3_200));
    client.text('{"type":"pause"}');
    expect(await service.refusal(client)).toEqual({ code: 'invalid_message', closeCode: 1008 });
  });
});

test('a slot that was taken for a session which Redis then does not open is given back', async () => {
  const { client: redis } = service.redis;
  await redis.set('{asr}:sessions', 'no stream');
  const client = await service.connect();
  client.start();
  expect(await service.refusal(client)).toEqual({ code: 'not_ready', closeCode: 1011 });
  await redis.del('{asr}:sessions');
  await service.slotFree();
});

test('a slot that is lost before its session is open is not_ready at once', async () => {
  const { slot } = service.api.services;
  const acquire = slot.acquire.bind(slot);
  // As a Redis that comes back empty in between.
  vi.spyOn(slot, 'acquire').mockImplementationOnce(async (holder) => {
    const fence = await acquire(holder);
    await service.redis.client.del('{asr}:slot');
    return fence;
  });
  const client = await service.connect();
  client.start();
  expect(await service.refusal(client)).toEqual({ code: 'not_ready', closeCode: 1011 });
});

test('audio that Redis refuses ends the recording', async () => {
  const { client: redis } = service.redis;
  onTestFinished(async () => {
    await redis.config('SET', 'maxmemory', '0');
    await redis.del('{asr}:model-call');
  });
  // No process may claim the session before Redis is full: of one that is claimed the abort, too, is refused,
  // and its slot runs out.
  await redis.set('{asr}:model-call', 'another');
  const client = await service.ready();
  await redis.config('SET', 'maxmemory', '1');
  client.audio(Buffer.alloc(3_200));
  expect(await service.refusal(client)).toEqual({ code: 'not_ready', closeCode: 1011 });
});
