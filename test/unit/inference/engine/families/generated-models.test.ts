import { InferenceSession, Tensor } from 'onnxruntime-node';
import { describe, expect, test } from 'vitest';
import { SMALL_SIZES } from '../../../../onnx/model-folder.ts';
import { Weights } from '../../../../onnx/weights.ts';
import { buildZipformer2 } from '../../../../onnx/zipformer2.ts';

/* The parity tests are worth something only when the generated graphs make use of everything they are given. */

const zipformer = { sizes: SMALL_SIZES, chunkFrames: 16, int8: false, seed: 5, frontEnd: 'mixing' } as const;
const GRAPHS = (['kaldi', 'whisper'] as const).flatMap((features) =>
  (['ctc', 'encoder'] as const).map((kind) => ({
    name: `zipformer2 ${kind} of ${features} features`,
    bytes: buildZipformer2({ ...zipformer, features, reads: 'levels', output: { kind, size: 20 } }).model,
  })),
);

type Feeds = Record<string, Tensor>;

describe.each(GRAPHS)('the generated $name graph', ({ bytes }) => {
  const random = new Weights(11);

  async function open(): Promise<{ session: InferenceSession; states: string[]; initial: Feeds }> {
    const session = await InferenceSession.create(bytes, {
      executionProviders: ['cpu'],
      logSeverityLevel: 4,
    });
    const initial: Feeds = {};
    for (const input of session.inputMetadata) {
      if (!input.isTensor) throw new Error(`${input.name} is no tensor`);
      const shape = input.shape.map((dimension) => (typeof dimension === 'string' ? 1 : dimension));
      const size = shape.reduce((product, dimension) => product * dimension, 1);
      initial[input.name] =
        input.type === 'int64'
          ? new Tensor('int64', new BigInt64Array(size), shape)
          : new Tensor('float32', new Float32Array(size), shape);
    }
    const [, ...states] = session.inputNames;
    return { session, states, initial };
  }

  async function step(
    session: InferenceSession,
    feeds: Feeds,
    states: string[],
    signal: Float32Array,
  ): Promise<Feeds> {
    const [name = ''] = session.inputNames;
    const shape = feeds[name]?.dims ?? [];
    const outputs = await session.run({ ...feeds, [name]: new Tensor('float32', signal, shape) });
    const next: Feeds = { ...feeds, result: outputs[session.outputNames[0] ?? ''] as Tensor };
    for (const [i, state] of states.entries()) {
      next[state] = outputs[session.outputNames[i + 1] ?? ''] as Tensor;
    }
    return next;
  }

  const withoutResult = ({ result, ...feeds }: Feeds): Feeds => feeds;
  const result = (feeds: Feeds): number[] => Array.from((feeds['result']?.data ?? []) as Float32Array);
  const noise = (feeds: Feeds, session: InferenceSession): Float32Array =>
    random.normals(feeds[session.inputNames[0] ?? '']?.size ?? 0, 3);

  test('depends on every state', async () => {
    const { session, states, initial } = await open();
    const [first, second, third] = [1, 2, 3].map(() => noise(initial, session));
    if (first === undefined || second === undefined || third === undefined)
      throw new Error('three steps are needed');
    const afterTwo = await step(
      session,
      withoutResult(await step(session, initial, states, first)),
      states,
      second,
    );
    const expected = result(await step(session, withoutResult(afterTwo), states, third));
    for (const state of states) {
      const forgotten = { ...withoutResult(afterTwo), [state]: initial[state] as Tensor };
      expect(result(await step(session, forgotten, states, third)), state).not.toEqual(expected);
    }
  });

  test('depends on every value of a step and on the order of the steps', async () => {
    const { session, states, initial } = await open();
    const first = noise(initial, session);
    const second = noise(initial, session);
    const expected = result(await step(session, initial, states, first));
    for (let i = 0; i < first.length; i += 79) {
      const changed = first.slice();
      changed[i] = (changed[i] ?? 0) + 1;
      expect(result(await step(session, initial, states, changed)), `value ${i}`).not.toEqual(expected);
    }
    const run = async (a: Float32Array, b: Float32Array): Promise<Feeds> =>
      step(session, withoutResult(await step(session, initial, states, a)), states, b);
    const third = noise(initial, session);
    const order = result(await step(session, withoutResult(await run(first, second)), states, third));
    const swapped = result(await step(session, withoutResult(await run(second, first)), states, third));
    expect(order).not.toEqual(swapped);
  });
});
