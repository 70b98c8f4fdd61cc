import { gzipSync } from 'node:zlib';
import { fastify } from 'fastify';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { acceptForms, readUploadForm } from '../../../../api/uploads/upload.ts';
import { MAX_MULTIPART_BYTES } from '../../../../common/audio/limits.ts';
import { wavFile } from '../../../support/audio/wav.ts';
import { filePart, form, postBody } from '../../../support/clients/form.ts';
import { startRedis, type TestRedis } from '../../../support/redis/redis.ts';
import { startApi, type TestApi } from '../../../support/service/api.ts';

/** No inference process runs here: a heartbeat says ready, and no form gets as far as a job. */
let redis: TestRedis;
let api: TestApi;
const wav = wavFile(Buffer.alloc(32_000));
const post = (body: Buffer, type: string | undefined) => postBody(api.origin, body, type);

beforeAll(async () => {
  redis = await startRedis();
  api = await startApi(redis.url);
});
beforeEach(() => api.services.readiness.beat({ id: 'scripted', host: 'here', pid: 1, state: 'ready' }));
afterAll(async () => {
  await api.stop();
  await redis.stop();
});

describe('form', () => {
  const detail = expect.arrayContaining([
    expect.objectContaining({ loc: expect.any(Array), msg: expect.any(String), type: expect.any(String) }),
  ]);
  test.each([
    ['no part file', form([filePart(wav, 'audio')])],
    [
      'file as a text field',
      form([{ headers: 'Content-Disposition: form-data; name="file"', content: Buffer.from('text') }]),
    ],
    [
      'file as a text field that says so',
      form([
        {
          headers: 'Content-Disposition: form-data; name="file"\r\nContent-Type: text/plain; charset=utf-8',
          content: Buffer.from('text'),
        },
      ]),
    ],
    ['no part at all', form([])],
    [
      'truncated',
      { body: form([filePart(wav)]).body.subarray(0, 1000), type: 'multipart/form-data; boundary=B' },
    ],
    ['no body', { body: Buffer.alloc(0), type: 'multipart/form-data; boundary=B' }],
    ['another boundary', { body: form([filePart(wav)]).body, type: 'multipart/form-data; boundary=C' }],
    ['no boundary', { body: form([filePart(wav)]).body, type: 'multipart/form-data' }],
    ['a bare WAV', { body: wav, type: 'audio/wav' }],
    ['JSON', { body: Buffer.from('{}'), type: 'application/json' }],
    ['urlencoded', { body: Buffer.from('file=1'), type: 'application/x-www-form-urlencoded' }],
    ['no type', { body: wav, type: undefined }],
    ['a nonsense type', { body: wav, type: ';;;' }],
    ['a type of almost that name', { ...form([filePart(wav)]), type: 'multipart/form-data-2; boundary=B' }],
  ])('%s → 422 with detail', async (_name, { body, type }) => {
    const answer = await post(body, type);
    expect(answer.status).toBe(422);
    expect(answer.body).toEqual({ detail });
  });

  test.each(['multipart/form-data', 'multipart/form-data; boundary=C'])(
    'a Content-Type set by hand (%s) is named, with whom to leave it to',
    async (type) => {
      const { status, body } = await post(form([filePart(wav)]).body, type);
      const msg = expect.stringMatching(`Content-Type "${type}".*; leave .* to your HTTP library`);
      expect({ status, body }).toMatchObject({ status: 422, body: { detail: [{ msg }] } });
    },
  );

  test('a compressed body → 422 that says so; another name of an encoding changes nothing', async () => {
    const { body, type } = form([filePart(Buffer.from('no WAV'))]);
    const answer = await postBody(api.origin, gzipSync(body), type, { 'content-encoding': 'gzip' });
    expect(answer).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['header', 'content-encoding'] }] },
    });
    const plain = await postBody(api.origin, body, type, { 'content-encoding': 'utf-8' });
    expect(plain).toMatchObject({ status: 400, body: { error: 'invalid_format' } });
  });

  test('where there is no file, what there is in its place is said', async () => {
    const text = (name: string) => ({
      headers: `Content-Disposition: form-data; name="${name}"`,
      content: Buffer.from('text'),
    });
    for (const [parts, msg] of [
      [[text('file'), text('note')], 'the part "file" is a text field; it must be a file'],
      [[text('note')], 'the form has no part "file"'],
    ] as const) {
      const { body, type } = form(parts);
      const found = { loc: ['body', 'file'], msg: expect.stringContaining(msg), type: 'missing' };
      expect((await post(body, type)).body).toEqual({ detail: [found] });
    }
  });

  test('of several parts named file the first counts', async () => {
    const { body, type } = form([filePart(Buffer.from('no WAV')), filePart(wav), filePart(Buffer.alloc(0))]);
    expect(await post(body, type)).toMatchObject({ status: 400, body: { error: 'invalid_format' } });
  });

  const { body: fileAlone } = form([filePart(Buffer.alloc(0))]);
  const behind = (others: string): Buffer => Buffer.concat([Buffer.from(others), fileAlone]);
  /** As many as fit into the limit of the body. */
  const filled = (part: string): Buffer =>
    behind(part.repeat((MAX_MULTIPART_BYTES - fileAlone.length) / part.length));
  const named = (disposition: string) => `--B\r\nContent-Disposition: form-data; ${disposition}\r\n\r\nx\r\n`;
  test.each([
    ['text fields', filled(named('name=a'))],
    ['files of other names', filled(named('name=a; filename=b'))],
    ['text fields named file', filled(named('name=file'))],
    ['parts without a name', filled(named('x=a'))],
    ['parts without headers', filled('--B\r\n\r\n\r\n')],
    ['parts without anything', filled('--B\r\n')],
    ...['__proto__', 'constructor', 'toString'].flatMap((name): [string, Buffer][] => [
      [`a field named ${name}`, behind(named(`name=${name}`))],
      [`a file named ${name}`, behind(named(`name=${name}; filename=b`))],
    ]),
  ])('any number of other parts is ignored: %s', async (_name, body) => {
    const answer = await post(body, 'multipart/form-data; boundary=B');
    expect(answer).toMatchObject({ status: 400, body: { error: 'empty_audio' } });
  });

  // Eight such forms, read as one piece each, kept a replica from renewing its stream's slot in time (docs/architecture.md).
  test('other work has its turns while a form is read', async () => {
    const body = filled('--B\r\n\r\n\r\n');
    let turns = 0;
    const app = fastify();
    await acceptForms(app);
    app.post('/', async (request) => {
      let turn = setImmediate(function next() {
        turns += 1;
        turn = setImmediate(next);
      });
      await readUploadForm(request, body, 'multipart/form-data; boundary=B');
      clearImmediate(turn);
      return {};
    });
    await app.inject({ method: 'POST', url: '/', headers: { 'content-type': 'multipart/form-data' } });
    expect(turns).toBeGreaterThan(body.length / 20_000);
  });

  const nameless = [
    ['no header', ''],
    ['no Content-Disposition', 'Content-Type: audio/wav'],
    ['another Content-Disposition', 'Content-Disposition: attachment; name="file"; filename="a.wav"'],
    ['headers over their limit', `X: ${'x'.repeat(90_000)}\r\n${filePart(wav).headers}`],
  ] as const;
  test.each(nameless)('a long part with %s is passed over', async (_name, headers) => {
    const part = { headers, content: Buffer.alloc(100_000) };
    const alone = form([part]);
    expect(await post(alone.body, alone.type)).toMatchObject({ status: 422, body: { detail } });
    const others = form([part, filePart(Buffer.alloc(0)), part]);
    expect(await post(others.body, others.type)).toMatchObject({
      status: 400,
      body: { error: 'empty_audio' },
    });
  });

  test.each(['audio/wav', 'Audio/X-WAV; rate=16000', 'application/octet-stream'])(
    'a part without a file name is a file when it is %s',
    async (contentType) => {
      const headers = `Content-Disposition: form-data; name="file"\r\nContent-Type: ${contentType}`;
      const { body, type } = form([{ headers, content: Buffer.from('not a wav') }]);
      expect(await post(body, type)).toMatchObject({ status: 400, body: { error: 'invalid_format' } });
    },
  );

  // RFC 2046, 5.1.1: transport padding.
  test.each(['multipart/form-data; boundary=B', 'multipart/form-data; charset=utf-8; BOUNDARY="B"; x=y'])(
    'blanks and tabs behind a boundary are no part of what follows (%s)',
    async (type) => {
      const { body } = form([filePart(Buffer.from('x'), 'other'), filePart(Buffer.from('not a wav'))]);
      const padded = Buffer.from(body.toString('latin1').replace(/--B(--)?\r\n/g, '--B$1 \t \r\n'), 'latin1');
      expect(await post(padded, type)).toMatchObject({ status: 400, body: { error: 'invalid_format' } });
    },
  );

  test('the boundary may be quoted, other parts are ignored, wherever they stand', async () => {
    const note = { headers: 'Content-Disposition: form-data; name="model"', content: Buffer.from('large') };
    const { body } = form([
      note,
      filePart(Buffer.from('x'), 'other'),
      filePart(Buffer.from('not a wav')),
      note,
    ]);
    for (const type of ['multipart/form-data; boundary="B"', 'multipart/form-data ; boundary=B'])
      expect(await post(body, type)).toMatchObject({ status: 400, body: { error: 'invalid_format' } });
  });
});
