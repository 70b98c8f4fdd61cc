import { once } from 'node:events';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, onTestFinished, test, vi } from 'vitest';
import { readBody } from '../../../../api/uploads/upload.ts';
import { MAX_MULTIPART_BYTES } from '../../../../common/audio/limits.ts';
import { ClientGone } from '../../../../common/errors/errors.ts';

const TIMEOUT_MS = 20_000;

/** A request whose body comes in as these pieces. */
function requestOf(pieces: Iterable<Buffer>): IncomingMessage {
  const request = new IncomingMessage(new Socket());
  for (const piece of pieces) request.push(piece);
  return request;
}

function usedBytes(): number {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

test.each([
  ['one piece', [100_000]],
  ['nothing', []],
  ['pieces, one of them without a byte', [65_535, 1, 0, 200_000]],
  ['the most that is allowed', [MAX_MULTIPART_BYTES - 1, 1]],
])('a body is put together byte by byte: %s', async (_name, lengths) => {
  const pieces = lengths.map((length, index) => Buffer.alloc(length, index + 1));
  const request = requestOf(pieces);
  request.push(null);
  expect((await readBody(request, TIMEOUT_MS)).equals(Buffer.concat(pieces))).toBe(true);
});

test('a body in pieces of a byte takes the memory of its bytes, not of its pieces', async () => {
  const count = 200_000;
  const before = usedBytes();
  const request = requestOf([]);
  const body = readBody(request, TIMEOUT_MS);
  for (let index = 0; index < count; index += 1) {
    request.push(Buffer.alloc(1));
    if (index % 1_000 === 0) await new Promise(setImmediate);
  }
  await new Promise(setImmediate);
  expect(usedBytes() - before).toBeLessThan(5_000_000);
  request.push(null);
  expect(await body).toHaveLength(count);
});

test.each([
  ['that is whole', 1_000],
  ['that is too long', MAX_MULTIPART_BYTES + 1],
])('a body %s leaves no listener and no clock behind', async (_what, bytes) => {
  onTestFinished(() => void vi.restoreAllMocks());
  const set = vi.spyOn(globalThis, 'setTimeout');
  const cleared = vi.spyOn(globalThis, 'clearTimeout');
  const request = requestOf([Buffer.alloc(bytes)]);
  request.push(null);
  const [read] = await Promise.allSettled([readBody(request, TIMEOUT_MS)]);
  expect(read.status).toBe(bytes > MAX_MULTIPART_BYTES ? 'rejected' : 'fulfilled');
  for (const event of ['data', 'end', 'error', 'close']) expect(request.listenerCount(event), event).toBe(0);
  const clocks = set.mock.results.filter((_, call) => set.mock.calls[call]?.[1] === TIMEOUT_MS);
  expect(clocks).toHaveLength(1);
  expect(cleared).toHaveBeenCalledWith(clocks[0]?.value);
});

test.each([
  ['during the checks before', true],
  ['in the middle', false],
])('a client that hangs up %s is gone at once, not at the deadline', async (_when, before) => {
  const request = requestOf([Buffer.alloc(1_000)]);
  if (before) {
    request.destroy();
    await once(request, 'close');
  }
  const body = readBody(request, TIMEOUT_MS);
  if (!before) {
    await once(request, 'data');
    request.destroy();
  }
  const bytes = before ? 0 : 1_000;
  await expect(body).rejects.toThrow(`the client hung up after ${bytes} bytes of the body`);
  await expect(body).rejects.toBeInstanceOf(ClientGone);
});
