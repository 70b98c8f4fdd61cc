import { expect, it, onTestFinished, vi } from 'vitest';
import { MAX_RECORDING_SAMPLES, SAMPLE_RATE_HZ } from '../../../../common/audio/limits.ts';
import type { CaptureMessage } from '../../../../page/recording/capture-worklet.ts';
import { levelsOf, loudness } from '../../../../page/recording/loudness.ts';

it('the microphone’s recording ends by itself at 15 s, with all its frames', async () => {
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
  // One that fits the 15 s no whole number of times.
  const block = [[new Float32Array(127)]];
  let blocks = 1;
  // It says itself when it is to be called no more; 16 s are beyond its limit.
  while (processor.process(block) && blocks < 2_100) blocks += 1;
  expect(blocks).toBe(Math.ceil(MAX_RECORDING_SAMPLES / 127));
  const lengths = posted.flatMap((message) => (message.type === 'frame' ? [message.pcm.length] : []));
  expect(lengths).toEqual(Array(150).fill(1_600));
  expect(posted.at(-1)).toEqual({ type: 'end', reason: 'limit' });
  // That is the last word, also where the browser calls on and the person stops at the same time.
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

it('a recording has a loudness for every 100 ms, the last part included', () => {
  const samples = new Int16Array(3_300);
  samples.fill(32_767, 3_200);
  expect(levelsOf(samples)).toEqual([0, 0, expect.closeTo(1, 3)]);
});
