import { CHANNELS, ENCODING, MAX_CONTROL_CHARACTERS, SAMPLE_RATE_HZ } from '../audio/limits.ts';
import type { StreamErrorCode } from '../errors.ts';

/** As it came in; its fields are looked at by `checkStart` and `startToken`, since out of order it is wrong whatever they say. */
export interface StartMessage {
  readonly type: 'start';
  readonly [field: string]: unknown;
}

/** Control messages of the client (text frames). Unknown fields are ignored. */
export type ClientMessage = StartMessage | { type: 'end' };

/** Messages of the server (text frames). */
export type ServerMessage =
  | { type: 'ready'; session_id: string; chunk_ms: number }
  | { type: 'partial'; revision: number; text: string }
  | { type: 'final'; revision: number; text: string; audio_ms: number; finalize_ms: number }
  | { type: 'error'; code: StreamErrorCode; message: string };

/** A text frame that is no control message of the interface; `message` says what was found and what to send. */
export class InvalidMessage extends Error {
  override readonly name = 'InvalidMessage';
}

/** Cut between characters: half of a pair would be an escape in the error message that strict JSON parsers refuse. */
const shown = (value: unknown): string => {
  const characters = [...(JSON.stringify(value) ?? 'nothing')];
  return characters.length > 60 ? `${characters.slice(0, 57).join('')}...` : characters.join('');
};

/** Characters are code points: a message of 1,024 Chinese characters or emoji is as long as one of 1,024 letters. */
function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

/**
 * Parses one text frame.
 * @throws InvalidMessage for more than 1,024 characters, invalid JSON or an unknown type.
 */
export function parseClientMessage(text: string): ClientMessage {
  // A code point is one or two UTF-16 units, so most frames are decided without counting.
  if (text.length > 2 * MAX_CONTROL_CHARACTERS || codePoints(text) > MAX_CONTROL_CHARACTERS) {
    throw new InvalidMessage(`a control message may have at most ${MAX_CONTROL_CHARACTERS} characters`);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new InvalidMessage('the text frame is not valid JSON; audio goes in binary frames');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new InvalidMessage('a control message is a JSON object with a field "type"');
  }
  const type = 'type' in value ? value.type : undefined;
  if (type === 'end') return { type: 'end' };
  if (type !== 'start')
    throw new InvalidMessage(`unknown message type ${shown(type)}; expected "start" or "end"`);
  return { ...value, type };
}

/** @throws InvalidMessage for a field that is missing or has another value than the only one allowed. */
export function checkStart(start: StartMessage): void {
  const expected = { sample_rate: SAMPLE_RATE_HZ, channels: CHANNELS, encoding: ENCODING };
  for (const [name, only] of Object.entries(expected)) {
    if (start[name] !== only)
      throw new InvalidMessage(`start: ${name} must be ${shown(only)}, not ${shown(start[name])}`);
  }
}

/** The token that `start` brings where the handshake had none; `null` is none, as many programs write what is not there. @throws InvalidMessage for another kind of value. */
export function startToken({ api_token: token }: StartMessage): string | undefined {
  if (token === undefined || token === null) return undefined;
  if (typeof token !== 'string') throw new InvalidMessage('start: api_token must be a string');
  return token;
}
