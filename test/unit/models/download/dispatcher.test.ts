import { expect, test, vi } from 'vitest';
import { closedInPeace } from '../../../../models/download/dispatcher.ts';

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
