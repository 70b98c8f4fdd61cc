import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Failure } from '../../../api/page/failures.ts';
import { recognizeLive } from '../../../api/page/live-recognition.ts';
import type { Pcm } from '../../../api/page/pcm.ts';
import { StreamSession, type StreamSocket } from '../../../api/page/stream-session.ts';

/** The browser's end of a connection, with the network under the test's control. */
class ScriptedSocket implements StreamSocket {
  bufferedAmount = 0;
  onopen: StreamSocket['onopen'] = null;
  onmessage: StreamSocket['onmessage'] = null;
  onclose: StreamSocket['onclose'] = null;
  closed = false;
  readonly sent: unknown[] = [];

  send(data: string | Pcm): void {
    this.sent.push(typeof data === 'string' ? JSON.parse(data) : data[0]);
  }
  close(): void {
    this.closed = true;
  }
  open(): void {
    this.onopen?.(undefined as never);
  }
  receive(message: unknown): void {
    this.onmessage?.({ data: JSON.stringify(message) } as never);
  }
  ready(): void {
    this.open();
    this.receive({ type: 'ready', session_id: '0'.repeat(32), chunk_ms: 500 });
  }
  lose(code: number): void {
    this.onclose?.({ code } as never);
  }
}

/** A frame of 100 ms that is told by its first sample. */
const frame = (number: number): Pcm => new Int16Array(1_600).fill(number);
const START = { type: 'start', sample_rate: 16_000, channels: 1, encoding: 'pcm_s16le', api_token: 'secret' };
const FINAL = { type: 'final', revision: 9, text: '你好', audio_ms: 300, finalize_ms: 12.5 };

function session() {
  const socket = new ScriptedSocket();
  const events: unknown[] = [];
  const opened = new StreamSession(socket, 'secret', {
    partial: (text) => events.push(text),
    final: (result) => events.push(result),
    failed: (failure) => events.push(failure.kind),
  });
  return { socket, events, session: opened };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('a stream session of the page', () => {
  it('sends start, holds audio until ready, and end only after the last frame', () => {
    const { socket, events, session: opened } = session();
    opened.push(frame(1));
    opened.push(frame(2));
    opened.end();
    socket.open();
    expect(socket.sent).toEqual([START]);
    socket.ready();
    expect(socket.sent.slice(1)).toEqual([START, 1, 2, { type: 'end' }]);
    socket.receive({ type: 'partial', revision: 1, text: '你' });
    socket.receive(FINAL);
    expect(events).toEqual(['你', { text: '你好', audio_ms: 300, finalize_ms: 12.5 }]);
    expect(socket.closed).toBe(true);
  });

  it('sends nothing while more than 64,000 bytes would be buffered, then catches up in order', () => {
    const { socket, session: opened } = session();
    socket.ready();
    socket.bufferedAmount = 60_801;
    for (let n = 1; n <= 30; n += 1) opened.push(frame(n));
    opened.end();
    vi.advanceTimersByTime(5_000);
    expect(socket.sent).toEqual([START]);
    socket.bufferedAmount = 60_800;
    vi.advanceTimersByTime(25);
    // One second of audio at once; the rest at twice real time, so that no backlog of two seconds comes up at the service.
    expect(socket.sent).toHaveLength(1 + 10);
    vi.advanceTimersByTime(500);
    expect(socket.sent).toHaveLength(1 + 20);
    vi.advanceTimersByTime(500);
    expect(socket.sent.slice(1)).toEqual([...Array.from({ length: 30 }, (_, n) => n + 1), { type: 'end' }]);
  });

  it('sends at once again what comes after it has caught up', () => {
    const { socket, session: opened } = session();
    socket.ready();
    socket.bufferedAmount = 64_000;
    opened.push(frame(1));
    opened.push(frame(2));
    socket.bufferedAmount = 0;
    vi.advanceTimersByTime(25);
    opened.push(frame(3));
    expect(socket.sent.slice(1)).toEqual([1, 2, 3]);
  });

  it('sends nothing of what is held back when it has ended', () => {
    const { socket, events, session: opened } = session();
    socket.ready();
    socket.bufferedAmount = 64_000;
    opened.push(frame(1));
    opened.push(frame(2));
    opened.end();
    socket.receive({ type: 'error', code: 'timeout', message: '' });
    socket.bufferedAmount = 0;
    expect(vi.getTimerCount()).toBe(0);
    opened.push(frame(3));
    socket.receive(FINAL);
    expect(socket.sent).toEqual([START]);
    expect(events).toEqual(['timeout']);
  });

  it('is lost when its connection takes nothing more, also before the last frames are sent', () => {
    const { socket, events, session: opened } = session();
    socket.ready();
    socket.bufferedAmount = 64_000;
    opened.push(frame(1));
    opened.end();
    vi.advanceTimersByTime(40_000);
    expect(events).toEqual(['connection_lost']);
    expect(socket.closed).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('may last longer than the wait for ready', () => {
    const { socket, events, session: opened } = session();
    socket.ready();
    vi.advanceTimersByTime(15_000);
    opened.end();
    socket.receive(FINAL);
    expect(events).toMatchObject([{ text: '你好' }]);
  });

  it('takes no word back for a snapshot that is older than the one shown', () => {
    const { socket, events } = session();
    socket.ready();
    for (const revision of [0, 1, 3, 2, 3, 4])
      socket.receive({ type: 'partial', revision, text: `${revision}` });
    expect(events).toEqual(['0', '1', '3', '4']);
  });

  it.each([
    ['busy', 'busy'],
    ['overloaded', 'overloaded'],
    ['unauthorized', 'unauthorized'],
    ['not_ready', 'not_ready'],
    ['timeout', 'timeout'],
    ['inference_failed', 'inference_failed'],
    ['forbidden', 'forbidden'],
    ['audio_too_long', 'file_too_long'],
    ['invalid_frame', 'unexpected'],
  ])('fails once with error %s', (code, kind) => {
    const { socket, events, session: opened } = session();
    socket.ready();
    socket.receive({ type: 'error', code, message: 'why' });
    socket.lose(1008);
    expect(events).toEqual([kind]);
    // The recording goes on; a socket that is closed would only count its bytes.
    opened.push(frame(1));
    expect(socket.sent).toEqual([START]);
  });

  it('is refused when the connection closes before it was open', () => {
    const { socket, events } = session();
    socket.lose(1006);
    expect(events).toEqual(['stream_refused']);
  });

  it('is lost when the connection closes before the final, also while the result is awaited', () => {
    const { socket, events, session: opened } = session();
    socket.ready();
    opened.push(frame(1));
    opened.end();
    socket.lose(1006);
    expect(events).toEqual(['connection_lost']);
  });

  it('waits for nothing without end', () => {
    const opening = session();
    vi.advanceTimersByTime(9_999);
    expect(opening.events).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(opening.events).toEqual(['connection_lost']);
    const finishing = session();
    finishing.socket.ready();
    finishing.session.end();
    vi.advanceTimersByTime(39_999);
    expect(finishing.events).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(finishing.events).toEqual(['connection_lost']);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('goes on from the first ready only', () => {
    const { socket, session: opened } = session();
    socket.ready();
    opened.end();
    socket.receive({ type: 'ready', session_id: '0'.repeat(32), chunk_ms: 500 });
    expect(socket.sent).toEqual([START, { type: 'end' }]);
  });

  it('does not stumble over messages that it does not know', () => {
    const { socket, events } = session();
    socket.ready();
    socket.receive({ type: 'news' });
    socket.receive(['?']);
    socket.onmessage?.({ data: 'no JSON' } as never);
    socket.receive(FINAL);
    expect(events).toHaveLength(1);
  });
});

describe('live recognition', () => {
  function live() {
    const sockets: ScriptedSocket[] = [];
    const recognition = recognizeLive(
      (events) => {
        const socket = new ScriptedSocket();
        sockets.push(socket);
        return new StreamSession(socket, 'secret', events);
      },
      () => {},
    );
    const refuse = (code: string): void => {
      sockets.at(-1)?.receive({ type: 'error', code, message: '' });
    };
    return { sockets, recognition, refuse };
  }

  it('tries again when the slot was just about to be free, with all that was said meanwhile', async () => {
    const { sockets, recognition, refuse } = live();
    recognition.push(frame(1));
    refuse('busy');
    recognition.push(frame(2));
    vi.advanceTimersByTime(250);
    recognition.push(frame(3));
    sockets.at(-1)?.ready();
    recognition.end();
    expect(sockets.at(-1)?.sent).toEqual([START, 1, 2, 3, { type: 'end' }]);
    sockets.at(-1)?.receive(FINAL);
    await expect(recognition.result).resolves.toMatchObject({ text: '你好' });
    expect(sockets).toHaveLength(2);
  });

  it('ends also what it opens only after the end', () => {
    const { sockets, recognition, refuse } = live();
    recognition.push(frame(1));
    refuse('busy');
    recognition.end();
    vi.advanceTimersByTime(250);
    sockets.at(-1)?.ready();
    expect(sockets.at(-1)?.sent).toEqual([START, 1, { type: 'end' }]);
  });

  it('gives up after 1.5 s of busy', async () => {
    const { sockets, recognition, refuse } = live();
    const failed = expect(recognition.result).rejects.toEqual(new Failure('busy', 'busy: '));
    for (const waitMs of [250, 500, 750]) {
      refuse('busy');
      vi.advanceTimersByTime(waitMs);
    }
    refuse('busy');
    await failed;
    expect(sockets).toHaveLength(4);
  });

  it('does not repeat what will not pass', async () => {
    const { sockets, recognition, refuse } = live();
    const failed = expect(recognition.result).rejects.toMatchObject({ kind: 'unauthorized' });
    refuse('unauthorized');
    await failed;
    vi.advanceTimersByTime(60_000);
    expect(sockets).toHaveLength(1);
  });

  it('hangs up when it is abandoned', () => {
    const { sockets, recognition } = live();
    sockets[0]?.ready();
    recognition.abandon();
    expect(sockets.map(({ closed }) => closed)).toEqual([true]);
  });

  it('opens nothing any more once it is abandoned', () => {
    const { sockets, recognition, refuse } = live();
    refuse('busy');
    recognition.abandon();
    vi.advanceTimersByTime(60_000);
    expect(sockets).toHaveLength(1);
  });
});
