import { BYTES_PER_SECOND, CHUNK_BYTES, CHUNK_MS, MAX_RECORDING_BYTES } from '../../common/audio/limits.ts';
import { modelFolders } from '../../models/store/store.ts';
import { MEMORY_GOAL } from './engine.ts';
import type { Recognized } from './engine-child.ts';
import { comparison, measureInTurns, threadsText } from './engine-turns.ts';
import { denseSpeech, type RealClip, readRealClips } from './real-speech.ts';
import type { Goal, Measure, Row } from './rows.ts';
import { spread } from './statistics.ts';

const WHISPER = 'whisper (bundled)';

const GREEDY_GOAL: Goal = { relation: '≤', limit: 0.9 };
const LENGTHS_S = [1, 3, 5, 8, 10, 15] as const;
/** Milliseconds of model time that an upload of 5 s may take. */
const UPLOAD_GOAL: Goal = { relation: '≤', limit: 500 };
/** Milliseconds of an update that still keeps up with real time: with 500 ms until the next, two seconds wait at most. */
const UPDATE_GOAL: Goal = { relation: '≤', limit: 2_000 - CHUNK_MS };
const GOAL_UPLOAD_S = 5;
const GOAL_UPDATE_S = 15;
const SHORT_S = 6;
const PAUSE_S = 1;
/** For what is measured of our engine alone. */
const THREADS = 2;

/** The bundled Whisper: against sherpa-onnx on real recordings, by length of the audio, by sentences, and until the first text. */
export async function measureWhisper(repetitions: number): Promise<Row[]> {
  const clips = await readRealClips();
  const rows: Row[] = [];
  for (const threads of [1, 2]) {
    console.error(`  ${threadsText(threads)} ...`);
    rows.push(...(await compare(clips, threads, Math.ceil(repetitions / 3))));
  }
  console.error('  by length ...');
  rows.push(...(await byLength(denseSpeech(clips), repetitions)));
  console.error('  by sentences ...');
  rows.push(...(await bySentences(clips, repetitions)));
  console.error('  first text ...');
  rows.push(...(await firstText(clips)));
  return rows;
}

/** One update over a whole recording is greedy, as sherpa-onnx is. Beam 5 is what uploads and finals take. */
async function compare(clips: readonly RealClip[], threads: number, rounds: number): Promise<Row[]> {
  const { greedy, beam, sherpa } = await measureInTurns(
    {
      greedy: { ...options('ours', threads), last: 'accept' },
      beam: { ...options('ours', threads), last: 'finish' },
      sherpa: { ...options('sherpa-onnx', threads), last: 'accept' },
    },
    clips.map(({ pcm }) => [pcm]),
    rounds,
  );
  const title = `${WHISPER}, ${threadsText(threads)}`;
  const timeMs = ({ wallMs }: Recognized): number => wallMs;
  const cpuMs = (result: Recognized): number => result.cpuMs;
  const peakMegabytes = (result: Recognized): number => result.peakMegabytes;
  return [
    comparison(`${title}, greedy: time of a recording`, 'ms', timeMs, greedy, sherpa, GREEDY_GOAL),
    comparison(`${title}, greedy: processor time`, 'ms', cpuMs, greedy, sherpa),
    comparison(`${title}, greedy: peak memory`, 'MB', peakMegabytes, greedy, sherpa, MEMORY_GOAL),
    comparison(`${title}, beam 5 against greedy: time of a recording`, 'ms', timeMs, beam, sherpa),
    comparison(`${title}, beam 5 against greedy: processor time`, 'ms', cpuMs, beam, sherpa),
    comparison(`${title}, beam 5 against greedy: peak memory`, 'MB', peakMegabytes, beam, sherpa),
  ];
}

/** The update that takes in the last 500 ms of so much speech, and an upload of it. */
async function byLength(speech: Buffer, repetitions: number): Promise<Row[]> {
  const ours = options('ours', THREADS);
  const { stream } = await measureInTurns(
    { stream: { ...ours, last: 'accept' } },
    [chunks(speech)],
    repetitions,
  );
  const pieces = LENGTHS_S.map((seconds) => [speech.subarray(0, seconds * BYTES_PER_SECOND)]);
  const { upload } = await measureInTurns({ upload: { ...ours, last: 'finish' } }, pieces, repetitions);
  return LENGTHS_S.flatMap((seconds, index): Row[] => {
    const name = `${WHISPER}, ${threadsText(THREADS)}, ${seconds} s of speech`;
    const updates = stream.map(({ calls }) => calls[(1000 * seconds) / CHUNK_MS - 1]?.wallMs ?? Number.NaN);
    const whole = upload.filter((_, i) => i % LENGTHS_S.length === index).map(({ wallMs }) => wallMs);
    return [
      {
        name,
        value: milliseconds('update', updates),
        ...(seconds === GOAL_UPDATE_S ? { goal: UPDATE_GOAL } : {}),
      },
      {
        name,
        value: milliseconds('upload (beam 5)', whole),
        ...(seconds === GOAL_UPLOAD_S ? { goal: UPLOAD_GOAL } : {}),
      },
    ];
  });
}

/** Uploads of one sentence and of two with a pause between them; of two also the stream. */
async function bySentences(clips: readonly RealClip[], repetitions: number): Promise<Row[]> {
  const pairs = clips.flatMap((first, i) => {
    const second = clips[i + 1];
    const pcm = second && Buffer.concat([first.pcm, Buffer.alloc(PAUSE_S * BYTES_PER_SECOND), second.pcm]);
    return pcm === undefined || pcm.length > MAX_RECORDING_BYTES ? [] : [{ first, pcm }];
  });
  const kinds = {
    [`one sentence up to ${SHORT_S} s`]: clips.filter(isShort).map(({ pcm }) => pcm),
    'one longer sentence': clips.filter((clip) => !isShort(clip)).map(({ pcm }) => pcm),
    'two sentences': pairs.map(({ pcm }) => pcm),
  };
  const ours = { ...options('ours', THREADS), last: 'finish' } as const;
  const rows: Row[] = [];
  for (const [kind, recordings] of Object.entries(kinds)) {
    const { upload } = await measureInTurns(
      { upload: ours },
      recordings.map((pcm) => [pcm]),
      Math.ceil(repetitions / 3),
    );
    rows.push(
      sentenceRow(
        `upload of ${kind}`,
        upload.map(({ wallMs }) => wallMs),
      ),
    );
  }
  const { stream } = await measureInTurns(
    { stream: ours },
    pairs.map(({ pcm }) => chunks(pcm)),
    1,
  );
  const callMs = (at: (pair: (typeof pairs)[number]) => number): number[] =>
    pairs.flatMap((pair, i) => stream[i]?.calls.at(at(pair))?.wallMs ?? []);
  // The pause is heard when half a second of it is there.
  rows.push(
    sentenceRow(
      'update that decodes a piece',
      callMs(({ first }) => Math.ceil((first.speech.endMs + 500) / CHUNK_MS) - 1),
    ),
  );
  rows.push(
    sentenceRow(
      'from `end` of two sentences to the final text',
      callMs(() => -1),
    ),
  );
  return rows;
}

function isShort({ pcm }: RealClip): boolean {
  return pcm.length <= SHORT_S * BYTES_PER_SECOND;
}

function sentenceRow(what: string, values: readonly number[]): Row {
  return { name: `${WHISPER}, ${threadsText(THREADS)}`, value: milliseconds(what, values) };
}

async function firstText(clips: readonly RealClip[]): Promise<Row[]> {
  const { stream } = await measureInTurns(
    { stream: { ...options('ours', THREADS), last: 'accept' } },
    clips.map(({ pcm }) => chunks(pcm)),
    1,
  );
  const measured = clips.map((clip, i) => {
    const atMs = firstTextMs(clip, stream[i]?.calls ?? []);
    return { atMs, behindSpeechMs: atMs - clip.speech.startMs };
  });
  const name = `${WHISPER}, ${threadsText(THREADS)}, first text`;
  return [
    {
      name,
      value: milliseconds(
        'from the first sample',
        measured.map(({ atMs }) => atMs),
      ),
    },
    {
      name,
      value: milliseconds(
        'from the first sound of speech',
        measured.map(({ behindSpeechMs }) => behindSpeechMs),
      ),
    },
  ];
}

/** As if the chunks came in real time: an update begins when its chunk is there and the one before it has ended. */
function firstTextMs({ name }: RealClip, calls: Recognized['calls']): number {
  let endMs = 0;
  for (const [i, { wallMs, text }] of calls.entries()) {
    endMs = Math.max(endMs, (i + 1) * CHUNK_MS) + wallMs;
    if (text !== '') return endMs;
  }
  throw new Error(`no update of ${name} had a text`);
}

function options(engine: 'ours' | 'sherpa-onnx', threads: number) {
  return { engine, threads, modelDir: modelFolders().bundled, model: { family: 'whisper' } } as const;
}

/** Whole chunks only. */
function chunks(pcm: Buffer): Buffer[] {
  const count = Math.floor(pcm.length / CHUNK_BYTES);
  return Array.from({ length: count }, (_, i) => pcm.subarray(i * CHUNK_BYTES, (i + 1) * CHUNK_BYTES));
}

function milliseconds(what: string, values: readonly number[]): Measure {
  return { what, unit: 'ms', spread: spread(values) };
}
