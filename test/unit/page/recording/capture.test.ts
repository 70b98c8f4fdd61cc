import { expect, it, onTestFinished, vi } from 'vitest';
import { blocksOf } from '../../../../client/audio/blocks.ts';
import { SAMPLE_RATE_HZ } from '../../../../common/audio/limits.ts';
import { AudioParts, wavFrom } from '../../../../page/recording/audio-parts.ts';
import type { CaptureMessage } from '../../../../page/recording/capture-worklet.ts';
import { limitMet } from '../../../../page/recording/dictation.ts';
import { loudness } from '../../../../page/recording/loudness.ts';

it('the microphone’s recording goes on beyond 15 s until it is stopped, with all its frames', async () => {
  const posted: CaptureMessage[] = [];
  interface Processor {
    readonly port: { onmessage?: () => void };
    process(inputs: Float32Array[][]): boolean;
  }
  const processors: (new () => Processor)[] = [];
  onTestFinished(() => void vi.unstubAllGlobals());
  vi.stubGlobal('sampleRate', SAMPLE_RATE_HZ);
  vi.stubGlobal(
    'AudioWorkletProcessor',
    class {
      readonly port = { postMessage: (message: CaptureMessage) => posted.push(message) };
    },
  );
  vi.stubGlobal('registerProcessor', (_name: string, processor: (typeof processors)[number]) => {
    processors.push(processor);
  });
  await import('../../../../page/recording/capture-worklet.ts');
  const [Processor] = processors;
  if (Processor === undefined) throw new Error('the worklet registered nothing');
  const processor = new Processor();
  const block = [[new Float32Array(127)]];
  // 16 s, and 29 samples.
  for (let blocks = 0; blocks < 2_016; blocks += 1) expect(processor.process(block)).toBe(true);
  processor.port.onmessage?.();
  const lengths = posted.flatMap((message) => (message.type === 'frame' ? [message.pcm.length] : []));
  expect(lengths).toEqual([...Array(160).fill(1_600), 32]);
  expect(posted.at(-1)).toEqual({ type: 'end' });
  // That is the last word, also where the browser calls on and the person stops once more.
  const { length } = posted;
  expect(processor.process(block)).toBe(false);
  processor.port.onmessage?.();
  expect(posted).toHaveLength(length);
});

it.each([
  ['silence', 0, 0],
  ['full scale', 32_767, 1],
  // −20 dBFS lies a third of the way down from full scale on a scale of 60 dB.
  ['a tenth of full scale', 3_277, 2 / 3],
])('the loudness of %s', (_what, sample, level) => {
  expect(loudness(new Int16Array(1_600).fill(sample))).toBeCloseTo(level, 3);
});

it('audio of any length is kept to the last sample, with a loudness for every 100 ms, and can be had from anywhere', async () => {
  const parts = new AudioParts();
  const samples = Int16Array.from({ length: 2_000_300 }, (_, n) => (n * 7) % 32_768);
  for (let from = 0; from < samples.length; from += 12_345) parts.push(samples.subarray(from, from + 12_345));
  const { wav, lengthMs, levels } = parts.sound(undefined, new Date());
  expect(lengthMs).toBe(125_019);
  expect(levels).toHaveLength(1_251);
  expect(levels.at(-1)).toBeCloseTo(loudness(samples.subarray(2_000_000)), 6);
  const read = async (blob: Blob) => (await toPcmOfAnyLength(blob)).toString('base64');
  const bytes = Buffer.from(samples.buffer);
  expect(await read(wav)).toBe(bytes.toString('base64'));
  expect(await read(wavFrom(wav, 100_010))).toBe(bytes.subarray(2 * 1_600_160).toString('base64'));
});

async function toPcmOfAnyLength(wav: Blob): Promise<Buffer> {
  const blocks: Buffer[] = [];
  for await (const block of blocksOf(wav)) blocks.push(Buffer.from(block.slice().buffer));
  return Buffer.concat(blocks);
}

it.each([
  [3_599_900, 298_900, undefined],
  [3_600_000, 0, 'recording_limit'],
  [400_000, 299_000, 'waiting_limit'],
])('of a recording of %i ms, %i of which wait, the end is %s', (recordedMs, waitingMs, kind) => {
  expect(limitMet(recordedMs, waitingMs)?.kind).toBe(kind);
});
