import { Headers } from 'undici';
import { expect, test, vi } from 'vitest';
import { closedInPeace } from '../../../models/archive.ts';
import { Interrupted, readAnswer } from '../../../models/range-answer.ts';

const WANTED = { url: 'http://models.example/one.tar.bz2', expectedBytes: 100 };

test.each([
  ['gzip', 'discard'],
  ['deflate', 'discard'],
  ['br', 'discard'],
  ['zstd', 'discard'],
  ['x-bzip2, GZIP', 'discard'],
  ['x-bzip2', 'store'],
])('bytes of a file that come as %s, which fetch() takes off or leaves: %s', (encoding, kind) => {
  const headers = new Headers({ 'content-range': 'bytes 60-99/100', 'content-encoding': encoding });
  expect(readAnswer({ status: 206, statusText: '', headers }, WANTED, 60).kind).toBe(kind);
});

test('the rest of a file that is over one in a hundred larger or smaller than the wanted one is not stored', () => {
  const answer = (totalBytes: number) => {
    const headers = new Headers({ 'content-range': `bytes 60-${totalBytes - 1}/${totalBytes}` });
    return readAnswer({ status: 206, statusText: '', headers }, WANTED, 60);
  };
  for (const totalBytes of [99, 101])
    expect(answer(totalBytes)).toEqual({ kind: 'store', from: 60, totalBytes });
  for (const totalBytes of [98, 102])
    expect(() => answer(totalBytes)).toThrow(`is a file of ${totalBytes} bytes, expected 100`);
});

test.each([
  [100, 'bytes */100', 'complete'],
  [99, 'bytes */*', 'complete'],
  [101, 'bytes */*', 'complete'],
  [99, undefined, 'complete'],
  [98, 'bytes */*', 'discard'],
  [102, 'bytes */*', 'discard'],
  [99, 'bytes */100', 'discard'],
  [100, 'bytes */99', 'discard'],
])('a part of %i bytes behind which there is nothing, of a file that is %s: %s', (offset, range, kind) => {
  const headers = new Headers(range === undefined ? {} : { 'content-range': range });
  expect(readAnswer({ status: 416, statusText: '', headers }, WANTED, offset).kind).toBe(kind);
});

test.each([408, 429, 500, 503])('HTTP %i may pass', (status) => {
  const answer = () => readAnswer({ status, statusText: '', headers: new Headers() }, WANTED, 60);
  expect(answer).toThrow(new Interrupted(`HTTP ${status}`));
});

test.each([
  [{ connection: 'keep-alive', 'content-length': '3' }, true],
  [{ connection: 'Keep-Alive', 'transfer-encoding': 'chunked' }, true],
  [{ connection: 'keep-alive' }, false],
  [{ connection: 'close', 'content-length': '3' }, false],
  [{ 'content-length': '3' }, false],
])('behind the head %j the server is told to wait for the disk: %s', (headers, waits) => {
  const controller = {
    aborted: false,
    paused: false,
    reason: null,
    rawHeaders: null,
    rawTrailers: null,
    abort: vi.fn(),
    pause: vi.fn(),
    resume: vi.fn(),
  };
  const answer = closedInPeace((_options, handler) => {
    handler.onResponseStart?.(controller, 200, headers, 'OK');
    handler.onResponseData?.(controller, Buffer.from('abc'));
    return true;
  });
  answer({ path: '/', method: 'GET' }, { onResponseData: (one) => one.pause() });
  expect(controller.pause).toHaveBeenCalledOnce();
  expect(controller.resume).toHaveBeenCalledTimes(waits ? 0 : 1);
});
