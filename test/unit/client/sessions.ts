import { onTestFinished, vi } from 'vitest';
import { AsrError, type AsrStream, type Retry, type StreamPartial } from '../../../client/node.ts';
import type { ScriptedSession } from './scripted-service.ts';

export const TOKEN = 'a-token-of-the-tests';
/** 250 ms: two whole frames and a half. */
export const PCM = Int16Array.from({ length: 4_000 }, (_, n) => (n % 256) * 100 - 12_800);

/** Every partial of a session that ends well. */
export async function partials(stream: AsrStream): Promise<StreamPartial[]> {
  const seen: StreamPartial[] = [];
  for await (const partial of stream) seen.push(partial);
  return seen;
}

/** The AsrError that `run` has to fail with. */
export async function failure(run: Promise<unknown>): Promise<AsrError> {
  const error: unknown = await run.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof AsrError)) throw new Error(`no AsrError but ${error}`);
  return error;
}

/** In this test the waits between attempts pass at once. @returns what to give as `onRetry` */
export function hurried(seen: (retry: Retry) => void = () => {}): (retry: Retry) => void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'], shouldAdvanceTime: true });
  onTestFinished(() => void vi.useRealTimers());
  return (retry) => {
    seen(retry);
    setImmediate(() => vi.advanceTimersByTime(retry.delayMs));
  };
}

/** The service's part of a session, from `start` on. */
export const onStart = (script: (session: ScriptedSession) => void) => (session: ScriptedSession) => {
  session.on('start', () => script(session));
};
