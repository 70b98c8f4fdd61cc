import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { TARGET_RATE_HZ } from '../../../api/client/audio/resampler.ts';
import type { CaptureMessage } from '../../../api/page/capture-worklet.ts';
import * as limits from '../../../api/page/limits.ts';
import { FrameAssembler, level, type Pcm, wavFile } from '../../../api/page/pcm.ts';
import * as server from '../../../common/audio/limits.ts';
import { readWav } from '../../../common/audio/wav.ts';
import { wavFile as asWav } from '../../support/wav.ts';

const noise = (samples: number): Float32Array =>
  Float32Array.from({ length: samples }, (_, n) => Math.sin(n * n * 0.37) * 0.9);

function assemble(samples: Float32Array, blockSamples: number): Pcm[] {
  const frames = new FrameAssembler();
  const pieces: Pcm[] = [];
  for (let start = 0; start < samples.length; start += blockSamples) {
    pieces.push(...frames.push(samples.subarray(start, start + blockSamples)));
  }
  return [...pieces, ...frames.flush()];
}

describe('frames of the page', () => {
  it('are 3,200 bytes each and a shorter tail, whatever the blocks', () => {
    for (const blockSamples of [1, 43, 1_600, 1_601, 9_999]) {
      const pieces = assemble(noise(4_000), blockSamples);
      expect(pieces.map((piece) => piece.byteLength)).toEqual([3_200, 3_200, 1_600]);
      const all = pieces.flatMap((piece) => [...piece]);
      expect(all).toEqual([...noise(4_000)].map((sample) => Math.round(sample * 32_768)));
    }
  });

  it('end exactly at the longest recording', () => {
    const frames = new FrameAssembler();
    let samples = 0;
    const count = (pieces: Pcm[]): void => {
      for (const piece of pieces) samples += piece.length;
    };
    count(frames.push(new Float32Array(server.MAX_RECORDING_SAMPLES - 1)));
    expect(frames.full).toBe(false);
    count(frames.push(new Float32Array(128)));
    expect(frames.full).toBe(true);
    count(frames.push(new Float32Array(128)));
    count(frames.flush());
    expect(samples).toBe(server.MAX_RECORDING_SAMPLES);
  });

  it('clip what is too loud instead of turning it over', () => {
    const [frame] = assemble(Float32Array.of(1, -1, 1.5, -3, 0.5, -0.5, 0), 7);
    expect(frame).toEqual(Int16Array.of(32_767, -32_768, 32_767, -32_768, 16_384, -16_384, 0));
  });

  it('give back 16-bit samples that came as floats, to the bit', () => {
    const pcm = Int16Array.from({ length: 1_600 }, (_, n) => ((n * 7_919) % 65_536) - 32_768);
    const [frame] = assemble(
      Float32Array.from(pcm, (sample) => sample / 32_768),
      128,
    );
    expect(frame).toEqual(pcm);
  });

  it('become a WAV that the server reads as it is', async () => {
    const pieces = assemble(noise(4_000), 128);
    const bytes = Buffer.from(await wavFile(pieces).arrayBuffer());
    const pcm = readWav(bytes);
    expect(pcm).toEqual(Buffer.concat(pieces.map((piece) => Buffer.from(piece.buffer))));
    // For other programs too, which it may be saved for.
    expect(bytes).toEqual(asWav(pcm));
  });

  it('have a loudness from 0 for silence to 1 for full scale', () => {
    expect(level(new Int16Array(1_600))).toBe(0);
    expect(level(new Int16Array(1_600).fill(32_767))).toBeCloseTo(1, 3);
    // −20 dBFS lies a third of the way down from full scale on a scale of 60 dB.
    expect(level(new Int16Array(1_600).fill(3_277))).toBeCloseTo(2 / 3, 3);
  });
});

it('the microphone’s recording ends by itself at 15 s, with all its frames', async () => {
  const posted: CaptureMessage[] = [];
  interface Processor {
    readonly port: { onmessage?: () => void };
    process(inputs: Float32Array[][]): boolean;
  }
  const processors: (new () => Processor)[] = [];
  onTestFinished(() => void vi.unstubAllGlobals());
  vi.stubGlobal('sampleRate', TARGET_RATE_HZ);
  vi.stubGlobal(
    'AudioWorkletProcessor',
    class {
      readonly port = { postMessage: (message: CaptureMessage) => posted.push(message) };
    },
  );
  vi.stubGlobal('registerProcessor', (_name: string, processor: (typeof processors)[number]) => {
    processors.push(processor);
  });
  await import('../../../api/page/capture-worklet.ts');
  const [Processor] = processors;
  if (Processor === undefined) throw new Error('the worklet registered nothing');
  const processor = new Processor();
  const block = [[new Float32Array(128)]];
  let blocks = 1;
  // It says itself when it is to be called no more; 16 s are beyond its limit, and the filter holds one sample back.
  while (processor.process(block) && blocks < 2_000) blocks += 1;
  expect(blocks).toBe(limits.MAX_RECORDING_SAMPLES / 128 + 1);
  expect(posted.filter(({ type }) => type === 'frame')).toHaveLength(150);
  expect(posted.at(-1)).toEqual({ type: 'end', reason: 'limit' });
  // That is the last word, also where the browser calls on and the person stops at the same time.
  const { length } = posted;
  expect(processor.process(block)).toBe(false);
  processor.port.onmessage?.();
  expect(posted).toHaveLength(length);
});

it('the page keeps to the server’s numbers', () => {
  expect({
    rate: TARGET_RATE_HZ,
    frame: limits.FRAME_SAMPLES * limits.BYTES_PER_SAMPLE,
    samples: limits.MAX_RECORDING_SAMPLES,
    ms: limits.MAX_RECORDING_MS,
  }).toEqual({
    rate: server.SAMPLE_RATE_HZ,
    frame: server.MAX_FRAME_BYTES,
    samples: server.MAX_RECORDING_SAMPLES,
    ms: server.audioMs(server.MAX_RECORDING_BYTES),
  });
});
