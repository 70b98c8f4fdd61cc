import type { Tensor } from 'onnxruntime-node';
import { MEL_BINS } from '../../features/frames.ts';
import { stackRows } from '../../features/stacked-frames.ts';
import type { OnnxModel } from '../../onnx/onnx-session.ts';
import { int32Tensor, outputAt, rowTensor, zeroTensor } from '../../onnx/tensors.ts';
import type { AcousticModel, StepDecoder } from '../../recording/acoustic-model.ts';
import { ContinuousIntegrateAndFire } from '../../search/continuous-integrate-and-fire.ts';
import type { TokenTable } from '../../text/tokens.ts';
import type { StreamingParaformerLayout } from './layout.ts';
import { ParaformerTranscript } from './transcript.ts';

/** Frames that a step reads and moves on by. */
const WINDOW_FRAMES = 61;
const SHIFT_FRAMES = 60;
export const PARAFORMER_STEPS = {
  features: 'funasr',
  windowFrames: WINDOW_FRAMES,
  shiftFrames: SHIFT_FRAMES,
} as const;
/** Rows in front of and behind those of a step that count: the encoder sees them again, and their weights are 0. */
const PAST_ROWS = 5;
const AHEAD_ROWS = 3;
const CONTEXT_ROWS = PAST_ROWS + AHEAD_ROWS;
const BLANK_ID = 0;
/**
 * ln(10,000) / 279: position p has a sine and a cosine of p · exp(−d · this), for d from 0 to 279 (FunASR's
 * sinusoidal encoder).
 */
const POSITION_DECAY = Math.fround(0.03301197265941284);

/**
 * A loaded streaming Paraformer: an encoder that sees each step with context, the integrate-and-fire that finds the
 * tokens in it, and a decoder that names them. As in sherpa-onnx (`online-recognizer-paraformer-impl.h`), but the
 * token that is left over at the end is named too, as FunASR does. Without it, users of sherpa-onnx lose the last
 * character of about half of their recordings (its issues 1373 and 3511).
 */
export class StreamingParaformerModel implements AcousticModel {
  readonly layout = PARAFORMER_STEPS;
  readonly transcript: ParaformerTranscript;
  readonly vocabularySize: number;
  readonly onnx: OnnxModel;
  readonly #decoder: OnnxModel;
  readonly #layout: StreamingParaformerLayout;

  /** @throws ModelLoadError when layout and tokens do not fit together. */
  constructor(encoder: OnnxModel, decoder: OnnxModel, layout: StreamingParaformerLayout, tokens: TokenTable) {
    tokens.checkAgainst(layout.vocabularySize, decoder.fileName);
    this.transcript = new ParaformerTranscript(tokens);
    this.vocabularySize = layout.vocabularySize;
    this.onnx = encoder;
    this.#decoder = decoder;
    this.#layout = layout;
  }

  open(): StepDecoder {
    return new ParaformerStream(this.onnx, this.#decoder, this.#layout);
  }
}

/** What the encoder gave for a step. */
interface Encoded {
  readonly enc: Tensor;
  readonly enc_len: Tensor;
}

class ParaformerStream implements StepDecoder {
  readonly tokenIds: number[] = [];
  readonly #encoder: OnnxModel;
  readonly #decoder: OnnxModel;
  readonly #layout: StreamingParaformerLayout;
  readonly #rowValues: number;
  readonly #cif: ContinuousIntegrateAndFire;
  /** Of each value of a row, what it is multiplied by: the encoder wants rows scaled. */
  readonly #scaled: StreamingParaformerLayout['stacking'];
  readonly #caches: Record<string, Tensor>;
  /** The last rows of the step before. */
  #context: Float32Array;
  #rows = 0;
  #encoded: Encoded | undefined;

  constructor(encoder: OnnxModel, decoder: OnnxModel, layout: StreamingParaformerLayout) {
    const { stacking, encoderDim, caches } = layout;
    this.#encoder = encoder;
    this.#decoder = decoder;
    this.#layout = layout;
    this.#rowValues = stacking.rowFrames * MEL_BINS;
    this.#cif = new ContinuousIntegrateAndFire(encoderDim);
    const scale = Math.fround(Math.sqrt(encoderDim));
    this.#scaled = { ...stacking, inverseDeviation: stacking.inverseDeviation.map((value) => value * scale) };
    this.#caches = Object.fromEntries(caches.map((spec) => [spec.name, zeroTensor(spec)]));
    this.#context = new Float32Array(CONTEXT_ROWS * this.#rowValues);
  }

  async run(steps: readonly Float32Array[], signal: AbortSignal): Promise<void> {
    for (const frames of steps) {
      signal.throwIfAborted();
      const fired = await this.#encode(frames);
      if (fired.length === 0) continue;
      signal.throwIfAborted();
      await this.#decode(fired);
    }
  }

  async flush(): Promise<void> {
    const last = this.#cif.flush();
    if (last !== undefined) await this.#decode([last]);
  }

  /** Silence has no token to name. */
  async warmUp(): Promise<void> {
    await this.#decode([new Float32Array(this.#layout.encoderDim)]);
  }

  /** @returns the embeddings of the tokens that end in this step */
  async #encode(frames: Float32Array): Promise<Float32Array[]> {
    const { rowFrames, shiftFrames } = this.#scaled;
    const newRows = Math.floor((WINDOW_FRAMES - rowFrames) / shiftFrames) + 1;
    const rows = stackRows(frames, newRows, 0, this.#scaled);
    this.#addPositions(rows);
    const input = new Float32Array(this.#context.length + rows.length);
    input.set(this.#context);
    input.set(rows, this.#context.length);
    this.#context = input.slice(-this.#context.length);
    const speech = rowTensor(input, this.#rowValues);
    const lengths = int32Tensor(speech.dims[1] ?? 0);
    const outputs = await this.#encoder.run({ speech, speech_lengths: lengths });
    const enc = outputAt(this.#encoder, outputs, 0, 'float32');
    this.#encoded = { enc, enc_len: outputAt(this.#encoder, outputs, 1, 'int32') };
    const weights = Float32Array.from(outputAt(this.#encoder, outputs, 2, 'float32').data as Float32Array);
    weights.fill(0, 0, PAST_ROWS).fill(0, -AHEAD_ROWS);
    return this.#cif.accept(enc.data as Float32Array, weights);
  }

  /** Rows are counted from 1 over the whole recording. */
  #addPositions(rows: Float32Array): void {
    const half = this.#rowValues / 2;
    for (let start = 0; start < rows.length; start += this.#rowValues) {
      this.#rows += 1;
      for (let d = 0; d < half; d++) {
        const angle = Math.fround(this.#rows * Math.fround(Math.exp(Math.fround(-d * POSITION_DECAY))));
        rows[start + d] = (rows[start + d] ?? 0) + Math.fround(Math.sin(angle));
        rows[start + half + d] = (rows[start + half + d] ?? 0) + Math.fround(Math.cos(angle));
      }
    }
  }

  async #decode(fired: readonly Float32Array[]): Promise<void> {
    const { encoderDim, caches } = this.#layout;
    if (this.#encoded === undefined) return;
    const embeds = new Float32Array(fired.length * encoderDim);
    for (const [i, embed] of fired.entries()) embeds.set(embed, i * encoderDim);
    const outputs = await this.#decoder.run({
      ...this.#encoded,
      acoustic_embeds: rowTensor(embeds, encoderDim),
      acoustic_embeds_len: int32Tensor(fired.length),
      ...this.#caches,
    });
    for (const [i, { name }] of caches.entries())
      this.#caches[name] = outputAt(this.#decoder, outputs, 2 + i, 'float32');
    for (const id of outputAt(this.#decoder, outputs, 1, 'int64').data as BigInt64Array)
      if (Number(id) !== BLANK_ID) this.tokenIds.push(Number(id));
  }
}
