import { AsrError, type AsrErrorCode, isServiceErrorCode } from './errors.ts';

/** `GET /readyz`. `loading` also stands for a model that cannot be loaded (`error` names the exception). */
export interface ReadyResult {
  readonly status: 'ready' | 'loading';
  /** true while a recognition is active anywhere in the service. */
  readonly busy: boolean;
  readonly error?: string | null;
}

/** `POST /v1/audio/transcriptions`. */
export interface TranscriptionResult {
  readonly text: string;
  /** Duration of the audio in whole milliseconds. */
  readonly audio_ms: number;
  /** Duration of the model's work in milliseconds, without upload and waiting. */
  readonly inference_ms: number;
}

/** The service took the session; audio may follow. */
export interface StreamReady {
  /** 32 characters, for questions to the operator. */
  readonly session_id: string;
  readonly chunk_ms: number;
}

/** A snapshot of the whole text so far: it replaces the one before, of which the end may have changed. */
export interface StreamPartial {
  readonly revision: number;
  readonly text: string;
}

export interface StreamFinal {
  readonly revision: number;
  readonly text: string;
  readonly audio_ms: number;
  /** From the service's receipt of the end until the final text, in milliseconds. */
  readonly finalize_ms: number;
}

export type ServerMessage =
  | ({ readonly type: 'ready' } & StreamReady)
  | ({ readonly type: 'partial' } & StreamPartial)
  | ({ readonly type: 'final' } & StreamFinal)
  | { readonly type: 'error'; readonly code: AsrErrorCode; readonly message: string };

type Fields = Readonly<Record<string, unknown>>;

/** @returns the fields of the JSON object in `text`, or undefined when it holds no object. */
export function parseObject(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

/** Within so many characters a page says what it is, even behind its styles and scripts. The patterns' time grows with the square of the length. */
const EXCERPT_OF_CHARACTERS = 16_384;

/** Start of an answer for an error message, on one line. */
export function excerpt(text: string): string {
  const line = text
    .slice(0, EXCERPT_OF_CHARACTERS)
    .replace(/<(style|script)[^<>]*>[\s\S]*?<\/\1>|<[^<>]*>/gi, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  return line.length > 80 ? `${line.slice(0, 79)}…` : line;
}

/**
 * Reads one text frame of the service.
 * @returns undefined for a message type that interface 1.0.0 does not have.
 * @throws AsrError `unexpected_response` when it is no message of the interface.
 */
export function parseServerMessage(frame: string): ServerMessage | undefined {
  const message = parseObject(frame);
  if (message === undefined) throw unexpected(frame);
  const { type, revision, text, code } = message;
  switch (type) {
    case 'ready': {
      const { session_id, chunk_ms } = message;
      if (typeof session_id !== 'string' || typeof chunk_ms !== 'number') throw unexpected(frame);
      return { type, session_id, chunk_ms };
    }
    case 'partial':
      if (typeof revision !== 'number' || typeof text !== 'string') throw unexpected(frame);
      return { type, revision, text };
    case 'final': {
      const { audio_ms, finalize_ms } = message;
      if (
        typeof revision !== 'number' ||
        typeof text !== 'string' ||
        typeof audio_ms !== 'number' ||
        typeof finalize_ms !== 'number'
      ) {
        throw unexpected(frame);
      }
      return { type, revision, text, audio_ms, finalize_ms };
    }
    case 'error': {
      if (typeof code !== 'string') throw unexpected(frame);
      const explained = typeof message['message'] === 'string' ? message['message'] : code;
      return isServiceErrorCode(code)
        ? { type, code, message: explained }
        : { type, code: 'unexpected_response', message: `${code}: ${explained}` };
    }
    default:
      if (typeof type === 'string') return undefined;
      throw unexpected(frame);
  }
}

const unexpected = (frame: string): AsrError =>
  new AsrError(
    'unexpected_response',
    `the service sent a message that the stream does not have: ${excerpt(frame)}`,
  );

export function toReadyResult(fields: Fields): ReadyResult | undefined {
  const { status, busy, error } = fields;
  if ((status !== 'ready' && status !== 'loading') || typeof busy !== 'boolean') return undefined;
  return typeof error === 'string' || error === null ? { status, busy, error } : { status, busy };
}

export function toTranscriptionResult(fields: Fields): TranscriptionResult | undefined {
  const { text, audio_ms, inference_ms } = fields;
  if (typeof text !== 'string' || typeof audio_ms !== 'number' || typeof inference_ms !== 'number')
    return undefined;
  return { text, audio_ms, inference_ms };
}
