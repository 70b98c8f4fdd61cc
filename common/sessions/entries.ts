import { fieldsOf, type StreamEntry } from '../store/result-streams.ts';

/**
 * The entries of a session's two streams, and how to read them. They are written by `session-producer.ts`
 * (API: audio) and `session-consumer.ts` (inference: results).
 */
export type AudioEntry = {
  /** Its id in the stream, to read on from. For frames and the end that is their number, from 1, and `-1`. */
  readonly id: string;
} & (
  | { kind: 'open'; fence: number }
  /** `pcm`: a frame, or those of a burst. */
  | { kind: 'frame'; pcm: Buffer }
  | { kind: 'end' }
  | { kind: 'abort' }
);

export type ResultEntry =
  /** An inference process has begun (or, after the first, taken over) the session. */
  | { kind: 'claimed'; by: string }
  /** `takenBytes` of PCM have gone into a model call. */
  | { kind: 'progress'; takenBytes: number }
  | { kind: 'partial'; takenBytes: number; revision: number; text: string }
  | { kind: 'final'; takenBytes: number; revision: number; text: string }
  | { kind: 'failed'; message: string };

/** Longer than a session takes from its opening, which is 40 s and what the last model call needs. */
export const SESSION_KEYS_TTL_MS = 60_000;
export const LEASE_TTL_MS = 1_000;
export const LEASE_RENEW_MS = 300;

/** An entry of no form above: another program, or another version of this one, uses the same keys. */
export class MalformedEntry extends Error {
  override readonly name = 'MalformedEntry';
  constructor(found: string) {
    super(`${found}: does another service, or a much older version, use the same ASR_KEY_PREFIX?`);
  }
}

function wholeNumber(fields: ReadonlyMap<string, string>, name: string): number {
  const value = fields.get(name);
  const number = Number(value ?? 'x');
  if (!Number.isSafeInteger(number))
    throw new MalformedEntry(`a stream entry has ${name} "${value}", not a whole number`);
  return number;
}

export function parseAudioEntry([rawId, fields]: StreamEntry<Buffer>): AudioEntry {
  const id = rawId.toString('latin1');
  const [name, value] = fields;
  if (name?.toString('latin1') === 'pcm' && value !== undefined) {
    return { id, kind: 'frame', pcm: value };
  }
  const map = fieldsOf([id, fields.map((field) => field.toString('latin1'))]);
  const kind = map.get('kind');
  switch (kind) {
    case 'open':
      return { id, kind, fence: wholeNumber(map, 'fence') };
    case 'end':
    case 'abort':
      return { id, kind };
    default:
      throw new MalformedEntry(`an entry of the audio stream has the unknown kind "${kind}"`);
  }
}

export function parseResultEntry(raw: StreamEntry): ResultEntry {
  const map = fieldsOf(raw);
  const kind = map.get('kind');
  switch (kind) {
    case 'claimed':
      return { kind, by: map.get('by') ?? '' };
    case 'progress':
      return { kind, takenBytes: wholeNumber(map, 'takenBytes') };
    case 'partial':
    case 'final':
      return {
        kind,
        takenBytes: wholeNumber(map, 'takenBytes'),
        revision: wholeNumber(map, 'revision'),
        text: map.get('text') ?? '',
      };
    case 'failed':
      return { kind, message: map.get('message') ?? '' };
    default:
      throw new MalformedEntry(`an entry of the result stream has the unknown kind "${kind}"`);
  }
}

/** The fields to write for a result, in the order of XADD. */
export function resultFields(entry: Exclude<ResultEntry, { kind: 'claimed' }>): string[] {
  return Object.entries(entry).flatMap(([name, value]) => [name, String(value)]);
}
