import Type, { type Static } from 'typebox';
import { CHANNELS, ENCODING, MAX_CONTROL_CHARACTERS, SAMPLE_RATE_HZ } from '../audio/limits.ts';
import { CLOSE_CODE, ServiceFailure, type StreamErrorCode } from '../errors/errors.ts';

const StartMessage = Type.Object({
  type: Type.Literal('start'),
  sample_rate: Type.Literal(SAMPLE_RATE_HZ),
  channels: Type.Literal(CHANNELS),
  encoding: Type.Literal(ENCODING),
  api_token: Type.Optional(Type.Union([Type.String(), Type.Null()])),
});
const EndMessage = Type.Object({ type: Type.Literal('end') });

/** Control messages of the client (text frames). Unknown fields are ignored. */
export const ClientMessage = Type.Union([StartMessage, EndMessage]);

const exactly = { additionalProperties: false };
/** Messages of the server (text frames). */
export const ServerMessage = Type.Union([
  Type.Object({ type: Type.Literal('ready'), session_id: Type.String(), chunk_ms: Type.Integer() }, exactly),
  Type.Object({ type: Type.Literal('partial'), revision: Type.Integer(), text: Type.String() }, exactly),
  Type.Object(
    {
      type: Type.Literal('final'),
      revision: Type.Integer(),
      text: Type.String(),
      audio_ms: Type.Integer(),
      finalize_ms: Type.Number(),
    },
    exactly,
  ),
  Type.Object(
    {
      type: Type.Literal('error'),
      code: Type.Unsafe<StreamErrorCode>(Type.Enum(Object.keys(CLOSE_CODE))),
      message: Type.String(),
    },
    exactly,
  ),
]);
export type ServerMessage = Static<typeof ServerMessage>;

/**
 * A `start` as it came in. Where it is out of order it is wrong whatever its fields say, so they are looked
 * at later: by `checkStart` and `startToken`.
 */
export type UncheckedStart = Pick<Static<typeof StartMessage>, 'type'> & Readonly<Record<string, unknown>>;

/** A text frame that is no control message of the interface. @param message what was found and what to send */
const invalid = (message: string): ServiceFailure => new ServiceFailure('invalid_message', message);

/**
 * Cut between characters. Half of a surrogate pair would be an escape in the error message, and strict JSON
 * parsers refuse it.
 */
const shown = (value: unknown): string => {
  const characters = [...(JSON.stringify(value) ?? 'nothing')];
  return characters.length > 60 ? `${characters.slice(0, 57).join('')}...` : characters.join('');
};

const START_EXAMPLE = JSON.stringify({
  type: 'start',
  sample_rate: SAMPLE_RATE_HZ,
  channels: CHANNELS,
  encoding: ENCODING,
});

/**
 * Parses one text frame.
 * @throws ServiceFailure `invalid_message` for more than 1,024 characters, invalid JSON or an unknown type.
 */
export function parseClientMessage(text: string): UncheckedStart | Static<typeof EndMessage> {
  // Characters are code points: an emoji, two UTF-16 units, is one. Over twice as many units are too many in
  // any case, and need not be counted.
  if (text.length > 2 * MAX_CONTROL_CHARACTERS || [...text].length > MAX_CONTROL_CHARACTERS) {
    throw invalid(`a control message may have at most ${MAX_CONTROL_CHARACTERS} characters`);
  }
  let value: unknown;
  try {
    // RFC 8259, 8.1: a byte order mark in front may be ignored. Some libraries write one.
    value = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    const found = text.endsWith('\0')
      ? 'it ends with a NUL character, as a C string does; send it without'
      : 'audio goes in binary frames';
    throw invalid(`the text frame is not valid JSON; ${found}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalid('a control message is a JSON object with a field "type"');
  }
  const type = 'type' in value ? value.type : undefined;
  if (type === 'end') return { type: 'end' };
  if (type === undefined)
    throw invalid(`a control message needs a field "type"; the first one is ${START_EXAMPLE}`);
  if (type !== 'start') throw invalid(`unknown message type ${shown(type)}; expected "start" or "end"`);
  return { ...value, type };
}

/** @throws ServiceFailure `invalid_message` for a field that is missing or has another value than the only one allowed. */
export function checkStart(start: UncheckedStart): void {
  const { sample_rate, channels, encoding } = StartMessage.properties;
  for (const [name, { const: only }] of Object.entries({ sample_rate, channels, encoding })) {
    if (start[name] !== only)
      throw invalid(`start: ${name} must be ${shown(only)}, not ${shown(start[name])}`);
  }
}

/**
 * The token in `start`, for clients whose handshake had none; `null` counts as none.
 * @throws ServiceFailure `invalid_message` for another kind of value.
 */
export function startToken({ api_token: token }: UncheckedStart): string | undefined {
  if (token === undefined || token === null) return undefined;
  if (typeof token !== 'string') throw invalid('start: api_token must be a string');
  return token;
}
