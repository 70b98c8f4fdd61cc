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

/** So much of a frame tells what the other end is. */
const SHOWN_CHARACTERS = 80;

/** @returns the fields of the JSON object in `text`, or undefined when it holds no object. */
export function parseObject(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Reads one text frame of the service.
 * @returns undefined for a message type that interface 1.0.0 does not have.
 * @throws AsrError `unexpected_response` when it is no message of the interface.
 */
export function parseServerMessage(frame: string): ServerMessage | undefined {
  const { type, session_id, chunk_ms, revision, text, audio_ms, finalize_ms, code, message } =
    parseObject(frame) ?? {};
  switch (type) {
    case 'ready':
      if (isString(session_id) && isNumber(chunk_ms)) return { type, session_id, chunk_ms };
      break;
    case 'partial':
      if (isNumber(revision) && isString(text)) return { type, revision, text };
      break;
    case 'final':
      if (isNumber(revision) && isString(text) && isNumber(audio_ms) && isNumber(finalize_ms))
        return { type, revision, text, audio_ms, finalize_ms };
      break;
    case 'error':
      if (!isString(code) || !isString(message)) break;
      if (isServiceErrorCode(code)) return { type, code, message };
      return { type, code: 'unexpected_response', message: `${code}: ${message}` };
    default:
      if (isString(type)) return undefined;
  }
  const shown = frame.slice(0, SHOWN_CHARACTERS);
  throw new AsrError(
    'unexpected_response',
    `the service sent a message that the stream does not have: ${shown}`,
  );
}

export const isReadyResult = (fields: Fields): fields is Fields & ReadyResult => {
  const { status, busy, error } = fields;
  const isError = error === undefined || error === null || isString(error);
  return (status === 'ready' || status === 'loading') && typeof busy === 'boolean' && isError;
};

export const isTranscriptionResult = (fields: Fields): fields is Fields & TranscriptionResult => {
  const { text, audio_ms, inference_ms } = fields;
  return isString(text) && isNumber(audio_ms) && isNumber(inference_ms);
};

const isString = (value: unknown): value is string => typeof value === 'string';
const isNumber = (value: unknown): value is number => typeof value === 'number';
