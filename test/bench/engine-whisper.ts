import { BYTES_PER_SECOND, CHUNK_BYTES, CHUNK_MS, MAX_RECORDING_BYTES } from '../../common/audio/limits.ts';
import { modelFolders } from '../../models/store/store.ts';
import { MEMORY_GOAL } from './engine.ts';
import type { Recognized } from './engine-child.ts';
import { type Arm, comparison, measureInTurns, threadsText } from './engine-turns.ts';
import { denseSpeech, type RealClip, readRealClips } from './real-speech.ts';
import { type Goal, milliseconds, type Row } from './report.ts';

const WHISPER = 'whisper (bundled)';
/** For what is measured of our engine alone. */
const THREADS = 2;
const OURS = `${WHISPER}, ${threadsText(THREADS)}`;

const GREEDY_GOAL: Goal = ['≤', 0.9];
const LENGTHS_S = [1, 3, 5, 8, 10, 15] as const;
/** Milliseconds of model time that an upload of 5 s may take. */
const UPLOAD_GOAL: Goal = ['≤', 500];
/** Milliseconds of an update that still keeps up with real time: with 500 ms until the next, two seconds wait at most. */
const UPDATE_GOAL: Goal = ['≤', 2_000 - CHUNK_MS];
const GOAL_UPLOAD_S = 5;
const GOAL_UPDATE_S = 15;
const SHORT_S = 6;
const PAUSE_S = 1;

/**
 * The bundled Whisper: against sherpa-onnx on real recordings, by length of the audio, by sentences, and
 * until the first text.
 */
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

/** One update over a whole recording is greedy, as sherpa-onnx is. */
async function compare(clips: readonly RealClip[], threads: number, rounds: number): Promise<Row[]> {
  const { ours, sherpa } = await measureInTurns(
    { ours: arm('ours', threads, 'accept'), sherpa: arm('sherpa-onnx', threads, 'accept') },
    clips.map(({ pcm }) => [pcm]),
    rounds,
  );
  const title = `${WHISPER}, ${threadsText(threads)}, greedy`;
  return [
    comparison(`${title}: time of a recording`, 'ms', ({ wallMs }) => wallMs, ours, sherpa, GREEDY_GOAL),
    comparison(`${title}: peak memory`, 'MB', (one) => one.peakMegabytes, ours, sherpa, MEMORY_GOAL),
  ];
}

/** The update that takes in the last 500 ms of so much speech, and an upload of it. */
async function byLength(speech: Buffer, repetitions: number): Promise<Row[]> {
  const stream = await measureOurs('accept', [chunks(speech)], repetitions);
  const pieces = LENGTHS_S.map((seconds) => [speech.subarray(0, seconds * BYTES_PER_SECOND)]);
  const upload = await measureOurs('finish', pieces, repetitions);
  return LENGTHS_S.flatMap((seconds, index): Row[] => {
    const name = `${OURS}, ${seconds} s of speech`;
    const updates = stream.map(({ calls }) => calls[(1000 * seconds) / CHUNK_MS - 1]?.wallMs ?? Number.NaN);
    const whole = upload.filter((_, i) => i % LENGTHS_S.length === index).map(({ wallMs }) => wallMs);
    const update = { name, value: milliseconds('update', updates) };
    const inOne = { name, value: milliseconds('upload (beam 5)', whole) };
    return [
      seconds === GOAL_UPDATE_S ? { ...update, goal: UPDATE_GOAL } : update,
      seconds === GOAL_UPLOAD_S ? { ...inOne, goal: UPLOAD_GOAL } : inOne,
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
    [`one sentence up to ${SHORT_S} s`]: clips.filter(isShort),
    'one longer sentence': clips.filter((clip) => !isShort(clip)),
    'two sentences': pairs,
  };
  const rows: Row[] = [];
  for (const [kind, recordings] of Object.entries(kinds)) {
    const pieces = recordings.map(({ pcm }) => [pcm]);
    const upload = await measureOurs('finish', pieces, Math.ceil(repetitions / 3));
    const times = upload.map(({ wallMs }) => wallMs);
    rows.push({ name: OURS, value: milliseconds(`upload of ${kind}`, times) });
  }
  const stream = await measureOurs(
    'finish',
    pairs.map(({ pcm }) => chunks(pcm)),
    1,
  );
  const callMs = (at: (pair: (typeof pairs)[number]) => number): number[] =>
    pairs.flatMap((pair, i) => stream[i]?.calls.at(at(pair))?.wallMs ?? []);
  // The pause is heard when half a second of it is there.
  const piece = callMs(({ first }) => Math.ceil((first.speech.endMs + 500) / CHUNK_MS) - 1);
  const end = callMs(() => -1);
  return [
    ...rows,
    { name: OURS, value: milliseconds('update that decodes a piece', piece) },
    { name: OURS, value: milliseconds('from `end` of two sentences to the final text', end) },
  ];
}

function isShort({ pcm }: RealClip): boolean {
  return pcm.length <= SHORT_S * BYTES_PER_SECOND;
}

async function firstText(clips: readonly RealClip[]): Promise<Row[]> {
  const stream = await measureOurs(
    'accept',
    clips.map(({ pcm }) => chunks(pcm)),
    1,
  );
  const atMs = clips.map((clip, i) => firstTextMs(clip, stream[i]?.calls ?? []));
  const behindSpeechMs = clips.map(({ speech }, i) => (atMs[i] ?? Number.NaN) - speech.startMs);
  const name = `${OURS}, first text`;
  return [
    { name, value: milliseconds('from the first sample', atMs) },
    { name, value: milliseconds('from the first sound of speech', behindSpeechMs) },
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

async function measureOurs(
  last: Arm['last'],
  recordings: readonly (readonly Buffer[])[],
  rounds: number,
): Promise<Recognized[]> {
  return (await measureInTurns({ ours: arm('ours', THREADS, last) }, recordings, rounds)).ours;
}

function arm(engine: Arm['engine'], threads: number, last: Arm['last']): Arm {
  return { engine, threads, last, modelDir: modelFolders().bundled, model: { family: 'whisper' } };
}

/** Whole chunks only. */
function chunks(pcm: Buffer): Buffer[] {
  const count = Math.floor(pcm.length / CHUNK_BYTES);
  return Array.from({ length: count }, (_, i) => pcm.subarray(i * CHUNK_BYTES, (i + 1) * CHUNK_BYTES));
}
