import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { joined } from '../../../client/audio/frames.ts';
import { noise, spoken } from '../../support/audio/spoken.ts';
import { wavFile } from '../../support/audio/wav.ts';
import { clientRuns, jsonLines, whenEnded } from '../../unit/client/client-process.ts';
import { type HttpScript, json, ScriptedService } from '../../unit/client/scripted-service.ts';

let service: ScriptedService;
const { folder, file, start, run } = clientRuns(() => service);
beforeEach(async () => {
  service = await ScriptedService.start();
});
afterEach(() => service.stop());

/** 32 s; its cuts are at 9.5 and 19.5 s. */
const PCM = Buffer.from(joined([spoken(9), noise(1), spoken(9), noise(1), spoken(12)]).buffer);
const long = file('long.wav', wavFile(PCM));
const says = (text: string): HttpScript => json(200, { text, audio_ms: 1, inference_ms: 2 });
const FAILS = json(500, { error: 'inference_failed', message: 'told' });
const PIECES = [
  { text: '一', start_ms: 0, end_ms: 9_100 },
  { text: '二', start_ms: 9_900, end_ms: 19_100 },
  { text: '三', start_ms: 19_920, end_ms: 32_000 },
];

const SRT = [
  '1\n00:00:00,000 --> 00:00:09,100\n一',
  '2\n00:00:09,900 --> 00:00:19,100\n二',
  '3\n00:00:19,920',
];
const JSON_LINE = { text: '一二三', audio_ms: 32_000, inference_ms: 6, pieces: PIECES };

test.for([
  { format: 'text', file: long, says: '一\n二\n三\n' },
  { format: 'srt', file: long, says: SRT.join('\n\n') },
  { format: 'vtt', file: '-', says: 'WEBVTT\n\n00:00:00.000 --> 00:00:09.100\n一\n\n' },
  { format: 'json', file: long, says: `${JSON.stringify({ file: long, ...JSON_LINE })}\n` },
])('a recording of 32 s as $format', async ({ format, file, says: start }) => {
  service.http = [says('一'), says('二'), says('三')];
  const input = file === '-' ? wavFile(PCM) : undefined;
  const { code, stdout, stderr } = await run(['transcribe', '--format', format, file], {}, input);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout.slice(0, start.length)).toBe(start);
});

const IN_PART = { text: '一二', audio_ms: 19_500, pieces: PIECES.slice(0, 2) };
const FAILURE = { file: long, error: 'inference_failed', message: 'told', ...IN_PART };

test.for([
  { format: 'text', says: '一\n二\n' },
  { format: 'json', says: `${JSON.stringify(FAILURE)}\n` },
])('a failure behind the first pieces: their text as $format, and exit code 6', async (given) => {
  service.http = [says('一'), says('二'), FAILS];
  const { code, stdout, stderr } = await run(['transcribe', '--format', given.format, long]);
  expect({ code, stdout }).toEqual({ code: 6, stdout: given.says });
  expect(stderr).toContain('told [inference_failed]');
  expect(stderr).toContain('the text ends after 0:20');
});

test.for(['text', 'json'])('an interrupt: what there is as %s, and 130', async (format) => {
  const child = start(['transcribe', '--format', format, long]);
  service.http = [says('一'), () => child.kill('SIGINT')];
  const { code, stdout } = await whenEnded(child);
  expect(code).toBe(130);
  if (format === 'text') expect(stdout).toBe('一\n');
  else
    expect(jsonLines(stdout)).toMatchObject([
      { file: long, error: 'interrupted', text: '一', audio_ms: 9_500 },
    ]);
});

test('an interrupt of a live recording: the text of what was said last comes first', async () => {
  const child = start(['transcribe', '--stream', '-']);
  service.stream = [
    (session) =>
      session
        .on('start', () => session.ready())
        .on('audio', () => {
          if (session.frames.length === 1) child.kill('SIGINT');
        })
        .on('end', () => {
          session.say({ type: 'final', revision: 1, text: '今天', audio_ms: 1, finalize_ms: 1 });
          session.socket.close(1000);
        }),
  ];
  child.stdin.write(wavFile(PCM, { dataBytes: 0xffff_ffff }).subarray(0, 32_000));
  expect(await whenEnded(child)).toEqual({ code: 130, stdout: '今天\n', stderr: '' });
});

test('what ffmpeg decodes is sent before it has read to the end', async () => {
  const bin = mkdtempSync(join(folder, 'bin-'));
  const samples = file('samples', PCM);
  const sent = join(folder, 'sent');
  // It gives the end only when the first piece has been sent.
  const waits = `cat ${samples}; while ! test -e ${sent}; do sleep 0.05; done; cat ${samples}`;
  writeFileSync(join(bin, 'ffmpeg'), `#!/bin/sh\n${waits}\n`, { mode: 0o755 });
  service.http = [
    (response, request) => {
      writeFileSync(sent, '');
      says('一')(response, request);
    },
  ];
  const ran = await run(['transcribe', file('speech.mp3', 'ID3 and so on')], {
    PATH: `${bin}:${process.env['PATH']}`,
  });
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  expect(ran.stdout.split('\n').length).toBeGreaterThan(5);
});
