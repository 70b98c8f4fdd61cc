import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { wavFile } from '../../support/audio/wav.ts';
import { clientRuns, jsonLines, whenEnded } from '../../unit/client/client-process.ts';
import { json, recognizeAs, ScriptedService } from '../../unit/client/scripted-service.ts';

const RESULT = { text: '你好', audio_ms: 100, inference_ms: 12.5 };

let service: ScriptedService;
const { folder, file, start, run, good } = clientRuns(() => service);
beforeEach(async () => {
  service = await ScriptedService.start();
});
afterEach(() => service.stop());

test('--stream: the recording arrives, partials and the final text come out', async () => {
  service.stream = [recognizeAs('你好')];
  expect(await run(['transcribe', '--stream', good])).toEqual({ code: 0, stdout: '你好\n', stderr: '' });
  expect(service.sessions[0]?.pcm.equals(Buffer.alloc(3_200, 1))).toBe(true);
  const { stdout } = await run(['transcribe', '--stream', '--json', good]);
  expect(jsonLines(stdout)).toEqual([
    { file: good, type: 'partial', revision: 1, text: '你' },
    { file: good, type: 'piece', text: '你好', start_ms: 0, end_ms: 100 },
    { file: good, type: 'final', revision: 2, text: '你好', audio_ms: 100, finalize_ms: expect.any(Number) },
  ]);
});

test('--stream: a broken connection, and what it had heard is uploaded', async () => {
  service.stream = [
    (session) => session.on('start', () => session.ready()).on('audio', () => session.socket.terminate()),
  ];
  service.http = [json(409, { error: 'busy' }), json(200, RESULT)];
  const { code, stdout, stderr } = await run(['transcribe', '--stream', good]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: '你好\n' });
  expect(stderr).toMatch(/network .*what was said is kept[\s\S]*busy .*attempt 2/);
  expect(service.requests[1]?.body.includes(Buffer.alloc(3_200, 1))).toBe(true);
});

test('--stream from standard input sends what is there before the rest has come', async () => {
  const heard = new Promise<void>((resolve) => {
    service.stream = [
      (session) => {
        recognizeAs('你好')(session);
        session.on('audio', resolve);
      },
    ];
  });
  const child = start(['transcribe', '--stream', '-']);
  const result = whenEnded(child);
  const wav = wavFile(Buffer.alloc(8_000, 1), { dataBytes: 0xffff_ffff });
  child.stdin.write(wav.subarray(0, 4_000));
  await heard;
  child.stdin.end(wav.subarray(4_000));
  expect(await result).toEqual({ code: 0, stdout: '你好\n', stderr: '' });
  expect(service.sessions[0]?.pcm.equals(Buffer.alloc(8_000, 1))).toBe(true);
});

test('--stream from standard input is read while the service is not ready yet: a recorder would drop what is not', async () => {
  service.stream = [() => {}];
  const child = start(['transcribe', '--stream', '-']);
  const result = whenEnded(child);
  // Several times what a pipe and the program's own buffer hold.
  const wav = wavFile(Buffer.alloc(400_000, 1), { dataBytes: 0xffff_ffff });
  await new Promise<void>((resolve, reject) => {
    child.stdin.write(wav, (error) => (error ? reject(error) : resolve()));
  });
  child.kill('SIGINT');
  expect(await result).toMatchObject({ code: 130, stdout: '' });
});

test('--stream from standard input ends where the WAV says, though its writer leaves the pipe open', async () => {
  service.stream = [recognizeAs('你好')];
  const child = start(['transcribe', '--stream', '-']);
  const result = whenEnded(child);
  child.stdin.write(wavFile(Buffer.alloc(3_200, 1)));
  expect(await result).toEqual({ code: 0, stdout: '你好\n', stderr: '' });
  expect(service.sessions[0]?.pcm.equals(Buffer.alloc(3_200, 1))).toBe(true);
});

test('--stream from standard input is sent as fast as it is spoken, also what is there at once', async () => {
  let heardAtMs = 0;
  let endedAtMs = 0;
  service.stream = [
    (session) => {
      recognizeAs('你好')(session);
      session
        .on('audio', () => {
          heardAtMs ||= performance.now();
        })
        .on('end', () => {
          endedAtMs = performance.now();
        });
    },
  ];
  // 2 s, as from a file.
  const wav = wavFile(Buffer.alloc(64_000, 1));
  expect(await run(['transcribe', '--stream', '-'], {}, wav)).toEqual({
    code: 0,
    stdout: '你好\n',
    stderr: '',
  });
  // A second of it follows at once, and what a busy machine holds up is caught up, by half a second at most.
  expect(endedAtMs - heardAtMs).toBeGreaterThan(400);
  expect(service.sessions[0]?.pcm.length).toBe(64_000);
});

test('other formats without ffmpeg: what the file is, and what to install', async () => {
  const mp3 = file('speech.mp3', 'ID3 and so on');
  const silk = file('voice.amr', '\x02#!SILK_V3');
  const { code, stderr } = await run(['transcribe', mp3, silk], { PATH: '/nowhere' });
  expect(code).toBe(1);
  expect(stderr).toContain(
    `${mp3}: The file is MP3, not WAV. ffmpeg would convert it, but is not installed: install it (apt install ffmpeg, `,
  );
  expect(stderr).toContain(`${silk}: The file is SILK, a messenger's voice message, not WAV. ffmpeg cannot`);
});

/** Stands for ffmpeg, so that the test does not depend on whether it is installed: says 320 bytes, or complains. */
function ffmpegThat(does: string): Record<string, string> {
  const bin = mkdtempSync(join(folder, 'bin-'));
  writeFileSync(join(bin, 'ffmpeg'), `#!/bin/sh\n${does}\n`, { mode: 0o755 });
  return { PATH: `${bin}:${process.env['PATH']}` };
}

test('other formats go through ffmpeg, from a file or standard input, a WAV of a foreign codec, too', async () => {
  service.http = [json(200, RESULT)];
  const speaks = ffmpegThat(
    `echo "$@" >> ${join(folder, 'arguments')}; head -c 320 /dev/zero | tr '\\0' '\\001'`,
  );
  const mp3 = file('speech.mp3', 'ID3 and so on');
  // More than a pipe holds: ffmpeg may have enough before it has read everything.
  const unread = Buffer.alloc(500_000, 'OggS');
  const adpcm = file('adpcm.wav', wavFile(Buffer.alloc(64), { formatCode: 2, bits: 4 }));
  expect(await run(['transcribe', mp3, adpcm, '-'], speaks, unread)).toMatchObject({
    code: 0,
    stderr: '',
  });
  expect(service.requests.length).toBe(3);
  for (const { body } of service.requests) expect(body.includes(wavFile(Buffer.alloc(320, 1)))).toBe(true);
  // A playlist fetches no address, and a name is a name, whatever it looks like.
  const from = '-nostdin -v error -protocol_whitelist file,pipe -i';
  const to = '-map 0:a:0 -ac 1 -ar 16000 -f s16le pipe:1';
  expect(readFileSync(join(folder, 'arguments'), 'utf8').trim().split('\n')).toEqual(
    [`file:${mp3}`, `file:${adpcm}`, 'pipe:0'].map((source) => `${from} ${source} ${to}`),
  );
  // But one that is cut off is refused, as ffmpeg would not.
  const cut = file('cut.wav', wavFile(Buffer.alloc(64), { dataBytes: 120 }));
  expect((await run(['transcribe', cut], speaks)).stderr).toContain('The WAV file is cut off');
  // Of noise behind a right signature it decodes something, complains, and says that all went well.
  for (const exit of [0, 1]) {
    const broken = ffmpegThat(
      `head -c 320 /dev/zero; echo "one" >&2; echo "[dec:mp3 @ 0x56] Corrupt bitstream" >&2; exit ${exit}`,
    );
    expect((await run(['transcribe', mp3], broken)).stderr).toContain(
      'The file is MP3, not WAV, and ffmpeg cannot read all of it: Corrupt bitstream. Copy or export it again [invalid_format]',
    );
  }
  // What not even ffmpeg knows may be what a program wrote without a header.
  const noFormat = ffmpegThat('echo "Invalid data found when processing input" >&2; exit 1');
  expect((await run(['transcribe', file('a.pcm', Buffer.alloc(640, 7))], noFormat)).stderr).toContain(
    'The file is not WAV: it begins with the bytes 07 07 07 07, and ffmpeg cannot read all of it: Invalid data found when processing input. If it is bare samples without a header: ffmpeg -f s16le -ar 16000 -ac 1 -i IN OUT.wav [invalid_format]',
  );
  const silent = ffmpegThat(`echo "Stream map '' matches no streams." >&2; echo "Error" >&2; exit 1`);
  const film = file('film.mp4', '\0\0\0 ftypisom');
  expect((await run(['transcribe', film], silent)).stderr).toContain(
    `${film}: The file is MP4 or M4A, not WAV, and has no sound in it [empty_audio]`,
  );
});

test('an interrupt ends ffmpeg, too', async () => {
  const interrupts = ffmpegThat(`echo $$ > ${join(folder, 'pid')}; kill -INT $PPID; exec sleep 60`);
  const ran = await run(['transcribe', file('speech.mp3', 'ID3 and so on')], interrupts);
  expect(ran).toEqual({ code: 130, stdout: '', stderr: '' });
  const pid = Number(readFileSync(join(folder, 'pid'), 'utf8'));
  expect(() => process.kill(pid, 0)).toThrow('ESRCH');
});

test.for(['SIGINT', 'SIGTERM'] as const)(
  '%s ends it with 130, in a stream and in a wait for standard input',
  async (signal) => {
    const child = start(['transcribe', '--stream', '-', good]);
    service.stream = [(session) => session.on('start', () => child.kill(signal))];
    child.stdin.write(wavFile(Buffer.alloc(8_000), { dataBytes: 0xffff_ffff }));
    expect(await whenEnded(child)).toEqual({ code: 130, stdout: '', stderr: '' });
    await service.sessions[0]?.closed;
  },
);

test.for([{ args: ['transcribe'] }, { args: ['transcribe', '--stream'] }])(
  'an interrupt ends $args of a file at once, whatever the service is doing',
  async ({ args }) => {
    const child = start([...args, good]);
    service.http = [() => child.kill('SIGINT')];
    service.stream = [(session) => session.on('start', () => child.kill('SIGINT'))];
    // With its own code: the signal itself follows only where nothing else ends it.
    expect(await whenEnded(child)).toEqual({ code: 130, stdout: '', stderr: '' });
  },
);

test('an interrupt ends it at once while it waits for a recording on standard input', async () => {
  service.http = [json(200, RESULT)];
  const child = start(['transcribe', good, '-']);
  // With its answer for the first, it goes on to standard input.
  child.stdout.once('data', () => child.kill('SIGINT'));
  const [stderr, ended] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  expect(stderr).toBe('');
  // Not by the signal itself, which follows where nothing else ends it.
  expect(ended).toEqual([130, null]);
});

test.for([
  { pipe: 'that nobody writes', writer: () => {} },
  // For reading and writing: the writer must not wait for its reader.
  { pipe: 'whose writer is silent', writer: (path: string) => openSync(path, 'r+') },
])('an interrupt ends it while it waits for a named pipe $pipe', async ({ writer }) => {
  service.http = [json(200, RESULT)];
  const pipe = join(mkdtempSync(join(folder, 'pipe-')), 'pipe');
  execFileSync('mkfifo', [pipe]);
  const fd = writer(pipe);
  const child = start(['transcribe', good, pipe]);
  // With its answer for the first, it goes on to the pipe.
  child.stdout.once('data', () => child.kill('SIGINT'));
  const [stderr, [code, signal]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  expect(stderr).toBe('');
  // To a shell they are the same.
  expect(code ?? signal).toBeOneOf([130, 'SIGINT']);
  if (fd !== undefined) closeSync(fd);
});

test('a file without a byte is empty, not one for ffmpeg', async () => {
  const { code, stderr } = await run(['transcribe', file('empty.wav', '')], { PATH: '/nowhere' });
  expect(code).toBe(1);
  expect(stderr).toContain('The file is empty [empty_audio]');
});
