import assert from 'node:assert/strict';
import fc from 'fast-check';
import { ServiceFailure } from '../../common/errors/errors.ts';
import { checkStart, parseClientMessage, startToken } from '../../common/messages/stream.ts';
import { pureFuzz } from './fuzz.ts';

/** What a text frame is to the interface. */
type ControlVerdict =
  | { readonly kind: 'start'; readonly fieldsAreRight: boolean; readonly tokenIsText: boolean }
  | 'end'
  | 'invalid';

const MAX_CHARACTERS = 1_024;

/** The interface's rules for control messages, written from its tables and not from the parser. */
export function controlVerdict(text: string): ControlVerdict {
  if ([...text].length > MAX_CHARACTERS) return 'invalid';
  let value: unknown;
  try {
    // RFC 8259, 8.1, allows a parser to ignore a byte order mark.
    value = JSON.parse(text.startsWith('\uFEFF') ? text.slice(1) : text);
  } catch {
    return 'invalid';
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'invalid';
  const fields = new Map<string, unknown>(Object.entries(value));
  if (fields.get('type') === 'end') return 'end';
  if (fields.get('type') !== 'start') return 'invalid';
  const fieldsAreRight =
    fields.get('sample_rate') === 16_000 &&
    fields.get('channels') === 1 &&
    fields.get('encoding') === 'pcm_s16le';
  const token = fields.get('api_token') ?? '';
  return { kind: 'start', fieldsAreRight, tokenIsText: typeof token === 'string' };
}

const START = { type: 'start', sample_rate: 16_000, channels: 1, encoding: 'pcm_s16le' };

/** Any UTF-16 unit, so also halves of pairs. */
const brokenText = fc.string({
  unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
});
const anyText = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: 'binary' }),
  brokenText,
  fc.constantFrom('天地玄黄', '\u{20000}\u{20001}', '\ud800', '\udc00a', '\0', '\u2028'),
);
const anyKey = fc.oneof(
  fc.constantFrom(
    '__proto__',
    'constructor',
    'prototype',
    'toString',
    'hasOwnProperty',
    'type',
    'api_token',
    '',
  ),
  anyText,
);
const wrongValue = fc.oneof(
  fc.nat({ max: 60 }).map((letters) => 'a'.repeat(letters) + '\u{1f3a4}'.repeat(40)),
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom<unknown>(
    16_000,
    '16000',
    16_000.5,
    1,
    '1',
    true,
    null,
    0,
    -1,
    48_000,
    'pcm_s16be',
    'start',
    'end',
    [],
    {},
  ),
);
/** JSON text of a value, with spaces, escapes and number forms that mean the same. */
const jsonText = (value: fc.Arbitrary<unknown>) =>
  fc
    .tuple(value, fc.constantFrom(undefined, 1, '\t'), fc.boolean(), fc.boolean())
    .map(([json, space, spelled, escaped]) => {
      const text = JSON.stringify(json, undefined, space) ?? 'null';
      const numbers = spelled
        ? text.replace('16000', '1.6e4').replace('"channels":1', '"channels":1.0')
        : text;
      return escaped ? numbers.replaceAll('start', '\\u0073tart').replaceAll('type', '\\u0074ype') : numbers;
    });

const withFields = fc
  .tuple(
    fc.constantFrom<object>(START, START, START, { type: 'end' }),
    fc.array(fc.tuple(anyKey, wrongValue), { maxLength: 3 }),
    fc.constantFrom(undefined, undefined, ...Object.keys(START)),
    fc.option(anyText, { nil: undefined }),
  )
  .map(([fields, extra, removed, token]) =>
    Object.fromEntries([
      ...Object.entries(fields).filter(([key]) => key !== removed),
      ...(token === undefined ? [] : [['api_token', token] as const]),
      ...extra,
    ]),
  );

/** `__proto__` as a key of the text, which no object literal and no JSON.stringify of one writes. */
const prototypeText = fc
  .tuple(jsonText(withFields), jsonText(withFields))
  .map(([outer, inner]) => outer.replace(/\}$/, `,"__proto__":${inner}}`).replace('{,', '{'));

/** Messages around the limit, counted in characters of one, two and four bytes and one or two UTF-16 units. */
const aroundLimit = fc
  .tuple(
    fc.constantFrom<object>(START, { type: 'end' }),
    fc.constantFrom('a', 'é', '音', '\u{1f3a4}', '\u{20000}'),
    fc.integer({ min: MAX_CHARACTERS - 2, max: MAX_CHARACTERS + 2 }),
    fc.boolean(),
  )
  .map(([fields, unit, characters, inside]) => {
    const text = JSON.stringify({ ...fields, pad: '' });
    const missing = characters - text.length;
    return inside ? text.replace('"pad":""', `"pad":"${unit.repeat(missing)}"`) : text + ' '.repeat(missing);
  });

const nested = fc
  .tuple(fc.constantFrom('[', '{"a":', '[{"type":'), fc.integer({ min: 1, max: 6_000 }), fc.boolean())
  .map(([open, depth, closed]) => {
    const text = open.repeat(depth);
    return closed
      ? `${text}1${[...text]
          .reverse()
          .map((mark) => ({ '[': ']', '{': '}' })[mark] ?? '')
          .join('')}`
      : text;
  });

const brokenJson = fc
  .tuple(jsonText(withFields), fc.nat(), fc.nat({ max: 3 }), anyText)
  .map(([text, place, removed, inserted]) => {
    const at = place % (text.length + 1);
    return text.slice(0, at) + inserted + text.slice(at + removed);
  });

/** Text frames of every kind; the right ones among them have no token that is the service's. */
export const controlText: fc.Arbitrary<string> = fc.oneof(
  { weight: 6, arbitrary: jsonText(withFields) },
  { weight: 2, arbitrary: prototypeText },
  { weight: 2, arbitrary: aroundLimit },
  { weight: 3, arbitrary: brokenJson },
  { weight: 2, arbitrary: jsonText(fc.jsonValue()) },
  { weight: 1, arbitrary: nested },
  { weight: 1, arbitrary: anyText },
);

export const controlMessages = pureFuzz('control messages of any kind', 10_000, controlText, (text) => {
  const expected = controlVerdict(text);
  const holds = (check: () => unknown): boolean => {
    try {
      check();
      return true;
    } catch (error) {
      if (!(error instanceof ServiceFailure)) throw error;
      assert.ok(error.message.length > 0 && error.message.length < 200, 'a message that fits a line');
      assert.doesNotMatch(error.message, /\p{Surrogate}/u, 'a message that every JSON parser takes');
      return false;
    }
  };
  let verdict: ControlVerdict = 'invalid';
  holds(() => {
    const message = parseClientMessage(text);
    const fieldsAreRight = message.type === 'start' && holds(() => checkStart(message));
    const tokenIsText = message.type === 'start' && holds(() => startToken(message));
    verdict = message.type === 'end' ? 'end' : { kind: 'start', fieldsAreRight, tokenIsText };
  });
  assert.deepEqual(verdict, expected);
  assert.deepEqual(Object.keys(Object.prototype), []);
});
