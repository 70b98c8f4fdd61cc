import { CLOSE_CODE, HTTP_STATUS } from '../../common/errors/errors.ts';
import { Speech } from '../bench/clips.ts';
import { wavFile } from '../support/audio/wav.ts';
import { type ReceivedMessage, StreamClient } from '../support/clients/stream-client.ts';
import { AUTHORIZED, upload } from '../support/service/api.ts';

const FRAME_BYTES = 3_200;
const FRAME_MS = 100;

export type Pace = 'in real time' | 'in a burst';

export interface Clip {
  readonly seconds: number;
  readonly pcm: Buffer;
  readonly wav: Buffer;
}

/** What a client got. */
export type Outcome =
  | { readonly kind: 'text'; readonly text: string }
  /** A code of the interface, with the status or close code that belongs to it. */
  | { readonly kind: 'error'; readonly code: string }
  /** The connection was refused, or closed without an answer. */
  | { readonly kind: 'closed'; readonly how: string }
  /** Nothing of the kind. */
  | { readonly kind: 'undocumented'; readonly what: string }
  /** The client itself hung up. */
  | { readonly kind: 'left' };

/** A request that is under way. */
export interface Client {
  readonly outcome: Promise<Outcome>;
  /** Hangs up. */
  leave(): void;
}

export function clips(lengths: readonly number[]): Clip[] {
  const speech = Speech.read();
  return lengths.map((seconds) => {
    const pcm = speech.pcm(seconds * 1_000);
    return { seconds, pcm, wav: wavFile(pcm) };
  });
}

export function beginUpload(origin: string, { pcm, wav }: Clip): Client {
  const leaving = new AbortController();
  const answered = async (): Promise<Outcome> => {
    const { status, body } = await upload(origin, wav, AUTHORIZED, leaving.signal);
    const { error, text, audio_ms } = body;
    if (status === 200 && typeof text === 'string' && audio_ms === pcm.length / 32)
      return { kind: 'text', text };
    if (Object.entries(HTTP_STATUS).some(([code, known]) => code === error && known === status))
      return { kind: 'error', code: String(error) };
    return { kind: 'undocumented', what: `${status} ${JSON.stringify(body)}` };
  };
  const outcome = answered().catch((error: unknown): Outcome => {
    if (leaving.signal.aborted) return { kind: 'left' };
    return { kind: 'closed', how: String(error instanceof Error ? (error.cause ?? error) : error) };
  });
  return { outcome, leave: () => leaving.abort() };
}

export function beginStream(origin: string, { pcm }: Clip, pace: Pace): Client {
  let client: StreamClient | undefined;
  let hasLeft = false;
  const leave = (): void => {
    hasLeft = true;
    client?.terminate();
  };
  const ended = async (): Promise<Outcome> => {
    client = await StreamClient.connect(`${origin.replace('http', 'ws')}/ws/asr`, AUTHORIZED);
    if (hasLeft) leave();
    client.start();
    // A connection that closes before tells why by itself.
    send(client, pcm, pace).catch(() => undefined);
    const closeCode = await client.closed();
    return hasLeft ? { kind: 'left' } : outcomeOf(client.received, closeCode, pcm.length / 32);
  };
  const outcome = ended().catch((error): Outcome => ({ kind: 'closed', how: String(error) }));
  return { outcome, leave };
}

async function send(client: StreamClient, pcm: Buffer, pace: Pace): Promise<void> {
  let isClosed = false;
  void client.closed().then(() => {
    isClosed = true;
  });
  await client.message('ready');
  const beganAtMs = performance.now();
  for (let sent = 0; sent < pcm.length && !isClosed; sent += FRAME_BYTES) {
    const waitMs = beganAtMs + (sent / FRAME_BYTES) * FRAME_MS - performance.now();
    if (pace === 'in real time' && waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    client.audio(pcm.subarray(sent, sent + FRAME_BYTES));
  }
  client.end();
}

/** @param audioMs what the client has sent */
function outcomeOf(received: readonly ReceivedMessage[], closeCode: number, audioMs: number): Outcome {
  const { type, code, text, audio_ms } = received.at(-1) ?? { type: 'none' };
  const revisions = received.flatMap(({ revision }) => (typeof revision === 'number' ? [revision] : []));
  if (revisions.some((revision, index) => revision <= (revisions[index - 1] ?? 0)))
    return { kind: 'undocumented', what: `revisions ${revisions.join(' ')}` };
  if (type === 'final' && audio_ms === audioMs) return { kind: 'text', text: String(text) };
  // 1006: the process was killed behind its last message.
  const closeCodes = Object.entries(CLOSE_CODE).filter(([known]) => known === code);
  if (type === 'error' && closeCodes.some(([, known]) => closeCode === known || closeCode === 1006))
    return { kind: 'error', code: String(code) };
  if (closeCode === 1006 || closeCode === 1001) return { kind: 'closed', how: `close code ${closeCode}` };
  return { kind: 'undocumented', what: `${JSON.stringify(received.at(-1))}, close code ${closeCode}` };
}
