import { execFile, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import Value from 'typebox/value';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { AsrErrorCode, ServiceErrorCode } from '../../../client/protocol/errors.ts';
import { CLOSE_CODE, HTTP_STATUS } from '../../../common/errors/errors.ts';
import { ClientMessage, ServerMessage } from '../../../common/messages/stream.ts';
import { packageRoot } from '../../../common/process/package-root.ts';
import { fixture } from '../../support/audio/fixtures.ts';
import { type ReceivedMessage, StreamClient } from '../../support/clients/stream-client.ts';
import { fileFolder } from '../../support/machine/folders.ts';
import { TOKEN } from '../../support/service/api.ts';
import { type RealService, startRealService } from '../../support/service/real-service.ts';
import { drop, type HttpScript, html, ScriptedService } from '../../unit/client/scripted-service.ts';

const root = packageRoot();
const REFERENCE = readFileSync(join(root, 'api/docs/reference/api-reference.md'), 'utf8');
const CHINESE = readFileSync(join(root, 'api/docs/reference/api-reference.zh-CN.md'), 'utf8');

/** The rows of the tables between two headings, as lists of cells. */
function rows(from: string, to: string): string[][] {
  const section = REFERENCE.slice(REFERENCE.indexOf(`\n${from}\n`), REFERENCE.indexOf(`\n${to}\n`));
  return section
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) => line.split('|').map((cell) => cell.trim()));
}

describe('the tables of /api-reference.md', () => {
  const isCode = (cell: string | undefined): boolean => /^`[a-z_]+`$/.test(cell ?? '');
  const name = (cell: string | undefined): string => (cell ?? '').replaceAll('`', '');

  test('hold every error of HTTP with its status', () => {
    const found = rows('### HTTP errors', '## Stream').filter(([, , code]) => isCode(code));
    expect(Object.fromEntries(found.map(([, status, code]) => [name(code), Number(status)]))).toEqual(
      HTTP_STATUS,
    );
  });

  test('hold every error of the stream with its close code, as the picture of the states does', () => {
    const found = rows('### Stream errors', '### Stream examples').filter(([, code]) => isCode(code));
    expect(Object.fromEntries(found.map(([, code, close]) => [name(code), Number(close)]))).toEqual(
      CLOSE_CODE,
    );
    const drawn = [...REFERENCE.matchAll(/ \.{3,} ([a-z_]+) +(\d{4})$/gm)];
    expect(Object.fromEntries(drawn.map(([, code, close]) => [code, Number(close)]))).toEqual(CLOSE_CODE);
    const inChinese = [...CHINESE.matchAll(/^ +(\d{4}) +([a-z_]+) \.{3,} /gm)];
    expect(Object.fromEntries(inChinese.map(([, close, code]) => [code, Number(close)]))).toEqual(CLOSE_CODE);
  });
});

test('/api-reference.md names every code that the ready-made client adds', () => {
  const added: Record<Exclude<AsrErrorCode, ServiceErrorCode>, true> = {
    invalid_form: true,
    network: true,
    unavailable: true,
    no_answer: true,
    unexpected_response: true,
  };
  const section = REFERENCE.slice(REFERENCE.indexOf('\n## Ready-made client\n'));
  for (const code of Object.keys(added)) expect(section).toContain(`\`${code}\``);
});

describe('the messages shown in /api-reference.md', () => {
  let service: RealService;
  beforeAll(async () => {
    service = await startRealService();
  }, 30_000);
  afterAll(() => service.stop());

  test('are those of the service, field for field', async () => {
    const block = /```json\n([\s\S]*?)```/.exec(REFERENCE)?.[1] ?? '';
    const shown = block
      .trim()
      .split('\n')
      .map((line): ReceivedMessage => JSON.parse(line));
    for (const message of shown)
      expect(Value.Check(ClientMessage, message) || Value.Check(ServerMessage, message), message.type).toBe(
        true,
      );
    const one = (type: string): ReceivedMessage =>
      shown.find((message) => message.type === type) ?? { type: 'none' };
    const url = service.wsUrl;

    const client = await StreamClient.connect(url);
    client.json({ ...one('start'), api_token: TOKEN });
    await client.message('ready');
    const other = await StreamClient.connect(url);
    other.json({ ...one('start'), api_token: TOKEN });
    expect(await other.message('error')).toEqual(one('error'));
    const { pcm } = fixture('e12');
    // Under two seconds at once; the rest when the model has taken these.
    for (let start = 0; start < 57_600; start += 3_200) client.audio(pcm.subarray(start, start + 3_200));
    await client.message('partial');
    for (let start = 57_600; start < pcm.length; start += 3_200)
      client.audio(pcm.subarray(start, start + 3_200));
    client.json(one('end'));
    const final = await client.message('final');
    expect(final).toMatchObject({ text: one('final')['text'], audio_ms: one('final')['audio_ms'] });

    const form = (message: Record<string, unknown>) =>
      Object.fromEntries(Object.entries(message).map(([field, value]) => [field, typeof value]));
    for (const received of client.received) expect(form(received)).toEqual(form(one(received.type)));
    const types = [...client.received, ...other.received].map(({ type }) => type);
    expect(new Set([...types, 'start', 'end'])).toEqual(new Set(shown.map(({ type }) => type)));
  });
});

/** As the service writes it: the examples look for this type alone. */
const json =
  (status: number, body: object): HttpScript =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };

describe('the examples that send a file', () => {
  const folder = fileFolder();
  let service: ScriptedService;
  beforeAll(async () => {
    service = await ScriptedService.start();
    const text = REFERENCE.replaceAll('{base_url}', service.url);
    for (const [, code = '', file = ''] of text.matchAll(/^```\w+\n((?:\/\/|#) (\w+\.\w+)\n[\s\S]*?)^```$/gm))
      writeFileSync(join(folder, file), code);
    writeFileSync(join(folder, 'recording.wav'), fixture('e12').wav);
  });
  beforeEach(() => void service.requests.splice(0));
  afterAll(() => service.stop());

  const python = spawnSync('python3', ['--version']).status === 0;
  describe.each([
    ['transcribe.mjs', process.execPath, true],
    ['transcribe.py', 'python3', python],
  ] as const)('%s', (file, program, there) => {
    const run = () =>
      promisify(execFile)(program, [file], {
        cwd: folder,
        env: { PATH: process.env['PATH'], ASR_API_TOKEN: TOKEN },
      });

    test.skipIf(!there)(
      'tries again what passes: no answer, half of one, busy, a proxy without its service',
      async () => {
        service.http = [
          drop,
          (response) => {
            response.writeHead(200, { 'content-type': 'application/json', 'content-length': 44 });
            response.write('{"text":', () => response.socket?.end());
          },
          json(409, { error: 'busy' }),
          html(502, '<h1>Bad Gateway</h1>'),
          json(200, { text: '你好', audio_ms: 1, inference_ms: 1 }),
        ];
        expect((await run()).stdout).toBe('你好\n');
        expect(service.requests).toHaveLength(5);
      },
    );

    test.skipIf(!there)('gives up at once on what does not, and says why', async () => {
      service.http = [json(401, { error: 'unauthorized', message: 'the token is wrong' })];
      const failed = await run().catch((error: { code: number; stderr: string }) => error);
      expect(failed).toMatchObject({ code: 1, stderr: expect.stringMatching(/401.*the token is wrong/) });
      expect(service.requests).toHaveLength(1);
    });
  });
});
