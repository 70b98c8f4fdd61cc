import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { AsrClient } from '../../../../client/node.ts';
import { Failure } from '../../../../page/service/failures.ts';
import { recognizeLive } from '../../../../page/service/live-recognition.ts';
import { serviceFor } from '../../../../page/service/service.ts';
import { recognizeAs, ScriptedService, type ScriptedSession } from '../../client/scripted-service.ts';
import { onStart, TOKEN } from '../../client/sessions.ts';

/** A frame of 100 ms that is told by its first sample. */
const frame = (number: number): Int16Array => new Int16Array(1_600).fill(number);
const heard = (session: ScriptedSession | undefined): number[] | undefined =>
  session?.frames.map((bytes) => bytes.readInt16LE());

let service: ScriptedService;
beforeEach(async () => {
  service = await ScriptedService.start();
});
afterEach(() => service.stop());

function live() {
  const partials: string[] = [];
  const opened = vi.fn();
  const client = new AsrClient({ url: service.url, apiToken: TOKEN });
  const recognition = recognizeLive(
    (options) => client.stream(options),
    (text) => partials.push(text),
    opened,
  );
  return { recognition, partials, opened };
}
const busy = onStart((session) => session.fail('busy', 1008));

it('tries again when the slot was just about to be free, with all that was said meanwhile', async () => {
  const { recognition, partials, opened } = live();
  service.stream = [
    onStart((session) => {
      expect(recognition.isOpen).toBe(false);
      recognition.push(frame(2));
      session.fail('busy', 1008);
      // While nothing is open.
      session.socket.on('close', () => recognition.push(frame(3)));
    }),
    (session) => {
      recognizeAs('你好')(session);
      session.on('start', () => {
        recognition.push(frame(4));
        recognition.end();
      });
    },
  ];
  recognition.push(frame(1));
  expect(await recognition.result).toMatchObject({ text: '你好', audio_ms: 400 });
  expect(partials).toEqual(['你']);
  expect(recognition.isOpen).toBe(true);
  expect(opened).toHaveBeenCalledOnce();
  expect(service.sessions.map(heard)).toEqual([[], [1, 2, 3, 4]]);
});

it('ends also what it opens only after the end', async () => {
  service.stream = [busy, recognizeAs('你好')];
  const { recognition } = live();
  recognition.push(frame(1));
  recognition.end();
  expect(await recognition.result).toMatchObject({ text: '你好', audio_ms: 100 });
});

it.each([
  ['busy', 4],
  ['unauthorized', 1],
])('gives up on %s after %i attempts', async (code, attempts) => {
  service.stream = [onStart((session) => session.fail(code, 1008))];
  await expect(live().recognition.result).rejects.toMatchObject({ code });
  expect(service.sessions).toHaveLength(attempts);
});

it('does not begin anew where a session breaks off in the middle', async () => {
  service.stream = [
    (session) => session.on('start', () => session.ready()).on('audio', () => session.socket.terminate()),
  ];
  const { recognition } = live();
  recognition.push(frame(1));
  await expect(recognition.result).rejects.toMatchObject({ code: 'network' });
  expect(service.sessions).toHaveLength(1);
});

it.each([
  ['hangs up', (session: ScriptedSession) => session.ready()],
  ['opens nothing any more', (session: ScriptedSession) => session.fail('busy', 1008)],
])('%s when it is abandoned', async (_what, answer) => {
  const answered = new Promise<ScriptedSession>((resolve) => {
    service.stream = [
      onStart((session) => {
        answer(session);
        resolve(session);
      }),
    ];
  });
  const { recognition } = live();
  const { closed } = await answered;
  recognition.abandon();
  await expect(recognition.result).rejects.toMatchObject({ name: 'AbortError' });
  await closed;
  expect(service.sessions).toHaveLength(1);
});

it('on the page, a connection that there never was is a stream that was refused', async () => {
  vi.stubGlobal('location', new URL(service.url));
  vi.stubGlobal(
    'WebSocket',
    class {
      onclose = (_: object): void => {};
      constructor() {
        setImmediate(() => this.onclose({ code: 1006, reason: '' }));
      }
      close = (): void => {};
    },
  );
  onTestFinished(() => void vi.unstubAllGlobals());
  const { result } = recognizeLive(
    (options) => serviceFor(TOKEN).stream(options),
    () => {},
    () => {},
  );
  await expect(result).rejects.toMatchObject({ kind: 'stream_refused' });
  await expect(result).rejects.toBeInstanceOf(Failure);
});
