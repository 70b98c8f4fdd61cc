import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { type Form, filePart, form } from '../support/clients/form.ts';
import { TOKEN } from '../support/service/api.ts';
import { scriptedText } from '../support/service/scripted-recognizer.ts';
import { servedFuzz } from './fuzz.ts';
import { type Answer, assertDocumented } from './http-answers.ts';
import { anyFile, validWav } from './wav-files.ts';
import { wavVerdict } from './wav-oracle.ts';

type Framing =
  | { how: 'length' }
  | { how: 'chunked'; sizes: number[]; extension: string; trailer: string }
  /** Content-Length says less than is sent: the rest is no request. */
  | { how: 'short'; missing: number }
  /** Content-Length says more than is ever sent. */
  | { how: 'long'; more: number }
  /** The connection is cut after this many bytes. */
  | { how: 'aborted'; after: number };

interface Upload {
  readonly file: Buffer;
  readonly form: Form;
  readonly framing: Framing;
  /** The sizes of the first pieces in which the request is written. */
  readonly pieces: readonly number[];
  readonly trouble: 'none' | 'busy' | 'model fails';
}

const wav = fc.oneof(
  { weight: 3, arbitrary: validWav.map(({ file }) => file) },
  { weight: 2, arbitrary: anyFile },
);
const framing: fc.Arbitrary<Framing> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ how: fc.constant('length' as const) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      how: fc.constant('chunked' as const),
      sizes: fc.array(fc.integer({ min: 1, max: 5_000 }), { minLength: 1, maxLength: 6 }),
      extension: fc.constantFrom('', ';a=b', ';name="x y"'),
      trailer: fc.constantFrom('', 'X-Trailer: a\r\n', 'Authorization: Bearer x\r\n'),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ how: fc.constant('short' as const), missing: fc.integer({ min: 1, max: 400 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ how: fc.constant('long' as const), more: fc.integer({ min: 1, max: 4_000 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ how: fc.constant('aborted' as const), after: fc.nat({ max: 2_000 }) }),
  },
);

const otherParts = fc.array(
  fc.constantFrom(
    { headers: 'Content-Disposition: form-data; name="model"', content: Buffer.from('large') },
    filePart(Buffer.from('no sound'), 'notes'),
  ),
  { maxLength: 2 },
);

const anyUpload: fc.Arbitrary<Upload> = fc
  .record({
    before: otherParts,
    file: wav,
    behind: otherParts,
    framing,
    pieces: fc.array(fc.integer({ min: 1, max: 300 }), { maxLength: 4 }),
    trouble: fc.oneof(
      { weight: 8, arbitrary: fc.constant('none' as const) },
      { weight: 1, arbitrary: fc.constant('busy' as const) },
      { weight: 1, arbitrary: fc.constant('model fails' as const) },
    ),
  })
  .map(({ before, behind, ...given }) => ({
    ...given,
    form: form([...before, filePart(given.file), ...behind]),
  }));

const CODE_OF = { busy: 'busy', 'model fails': 'inference_failed' } as const;
const NEXT = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';

export const uploads = servedFuzz(
  'uploads of files of any kind, framed in every way',
  300,
  anyUpload,
  async ({ file, form, framing, pieces, trouble }, service) => {
    if (trouble === 'busy') await service.occupySlot();
    if (trouble === 'model fails') service.failModel();
    const connection = await service.connect();
    const request = requestOf(form, framing);
    let sent = 0;
    for (const size of pieces) {
      connection.write(request.subarray(sent, sent + size));
      sent += size;
      await nextTurn();
    }
    connection.write(request.subarray(sent));
    switch (framing.how) {
      case 'aborted':
        await service.roundTrip();
        connection.destroy();
        return;
      case 'long':
        await service.roundTrip();
        connection.end();
        await connection.untilClosed();
        for (const answer of connection.answers()) assert.equal(assertDocumented(answer), 'bad_request');
        return;
      case 'short': {
        // What follows the declared length came before this answer, and so is dropped.
        const [answer] = await connection.answersUntil(1);
        assert.ok(answer !== undefined, 'the answer is missing');
        // A form ends with its closing delimiter; the line end behind it may be missing.
        if (framing.missing > 2) assert.equal(assertDocumented(answer), 'validation');
        else assertOutcome(answer, file, trouble);
        return;
      }
      case 'length':
      case 'chunked': {
        const [first] = await connection.answersUntil(1);
        assert.ok(first !== undefined, 'the answer is missing');
        assertOutcome(first, file, trouble);
        // The connection stays in order for the next request.
        connection.write(NEXT);
        const [, second] = await connection.answersUntil(2);
        assert.equal(second?.status, 200);
        return;
      }
    }
  },
);

function assertOutcome(answer: Answer, file: Buffer, trouble: Upload['trouble']): void {
  const verdict = wavVerdict(file);
  if (!('pcm' in verdict)) assert.equal(assertDocumented(answer), verdict.code);
  else if (trouble !== 'none') assert.equal(assertDocumented(answer), CODE_OF[trouble]);
  else {
    assert.equal(answer.status, 200);
    const { inference_ms: inferenceMs, ...result } = JSON.parse(answer.body.toString('utf8'));
    assert.ok(typeof inferenceMs === 'number' && inferenceMs >= 0);
    const audioMs = Math.round(verdict.pcm.length / 32);
    assert.deepEqual(result, { text: scriptedText(verdict.pcm), audio_ms: audioMs });
  }
}

function requestOf({ type, body }: Form, framing: Framing): Buffer {
  const head = (line: string) =>
    Buffer.from(
      `POST /v1/audio/transcriptions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Type: ${type}\r\n${line}\r\n\r\n`,
    );
  const withLength = (bytes: number) => Buffer.concat([head(`Content-Length: ${bytes}`), body]);
  switch (framing.how) {
    case 'length':
      return withLength(body.length);
    case 'short':
      return withLength(Math.max(0, body.length - framing.missing));
    case 'long':
      return withLength(body.length + framing.more);
    case 'aborted': {
      const whole = withLength(body.length);
      return whole.subarray(0, framing.after % whole.length);
    }
    case 'chunked':
      return Buffer.concat([head('Transfer-Encoding: chunked'), chunked(body, framing)]);
  }
}

function chunked(body: Buffer, { sizes, extension, trailer }: Extract<Framing, { how: 'chunked' }>): Buffer {
  const pieces: Buffer[] = [];
  for (let at = 0, index = 0; at < body.length; index += 1) {
    const size = Math.min(sizes[index % sizes.length] ?? 1, body.length - at);
    const end = at + size;
    pieces.push(
      Buffer.from(`${size.toString(16)}${extension}\r\n`),
      body.subarray(at, end),
      Buffer.from('\r\n'),
    );
    at = end;
  }
  return Buffer.concat([...pieces, Buffer.from(`0\r\n${trailer}\r\n`)]);
}
