import fc from 'fast-check';
import { controlText } from './control-messages.ts';

/** What a client does on a stream. */
export type Step =
  | { readonly do: 'start' }
  | { readonly do: 'text'; readonly text: string; readonly cuts: number[] }
  | { readonly do: 'audio'; readonly bytes: number; readonly cuts: number[] }
  /** So much audio in frames of 100 ms, each half second after the partial of the one before. */
  | { readonly do: 'real time'; readonly halfSeconds: number }
  | { readonly do: 'end' }
  | { readonly do: 'await ready' }
  | { readonly do: 'ping'; readonly payload: string }
  | { readonly do: 'pong' }
  | { readonly do: 'violate'; readonly how: Violation }
  | { readonly do: 'close'; readonly code: number }
  | { readonly do: 'cut' };

type Violation = 'text that is not UTF-8' | 'a message over 1 MiB';

/** What the WebSocket layer ends by itself, and the close code. Its other checks are tests of `ws`. */
export const VIOLATIONS = {
  'text that is not UTF-8': {
    closeCode: 1007,
    binary: false,
    payload: Buffer.from([0x7b, 0xc3, 0x28, 0x7d]),
  },
  'a message over 1 MiB': { closeCode: 1009, binary: true, payload: Buffer.alloc(1_048_577) },
} as const satisfies Record<Violation, { closeCode: number; binary: boolean; payload: Buffer }>;

export interface StreamCase {
  readonly token: 'in the header' | 'in start' | 'wrong in start' | 'none';
  readonly trouble: 'none' | 'busy' | 'model fails' | 'model hangs';
  /** Everything between two waits is sent in one piece. */
  readonly inOnePiece: boolean;
  readonly steps: readonly Step[];
}

const cuts = fc.oneof(
  { weight: 3, arbitrary: fc.constant<number[]>([]) },
  fc.array(fc.nat({ max: 4_000 }), { maxLength: 3 }),
);
const evenBytes = fc.oneof(
  fc.constantFrom(2, 1_600, 3_198, 3_200),
  fc.integer({ min: 1, max: 1_600 }).map((samples) => samples * 2),
);
const audio = (bytes: fc.Arbitrary<number>) => fc.record({ do: fc.constant('audio' as const), bytes, cuts });
const goodAudio = audio(evenBytes);
const badAudio = audio(
  fc.oneof(fc.constantFrom(0, 1, 3_199, 3_201, 3_202, 6_400, 70_000), fc.nat({ max: 40_000 })),
);
const ping = fc.record({
  do: fc.constant('ping' as const),
  payload: fc.string({ unit: 'binary-ascii', maxLength: 60 }),
});
const text = fc.record({ do: fc.constant('text' as const), text: controlText, cuts });
const violate = fc.record({
  do: fc.constant('violate' as const),
  how: fc.constantFrom<Violation>('text that is not UTF-8', 'a message over 1 MiB'),
});
const leave = fc.oneof(
  fc.record({ do: fc.constant('close' as const), code: fc.constantFrom(1000, 1001, 3000, 4999) }),
  fc.constant({ do: 'cut' as const }),
);
const START: Step = { do: 'start' };
const END: Step = { do: 'end' };
const READY: Step = { do: 'await ready' };

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(START, END, READY, { do: 'pong' as const }) },
  { weight: 3, arbitrary: goodAudio },
  { weight: 4, arbitrary: badAudio },
  { weight: 2, arbitrary: text },
  { weight: 1, arbitrary: ping },
  { weight: 1, arbitrary: violate },
  { weight: 1, arbitrary: leave },
);

/** A recording as it should be. */
const recording: fc.Arbitrary<Step[]> = fc
  .tuple(
    fc.array(fc.oneof({ weight: 8, arbitrary: goodAudio }, ping), { maxLength: 12 }),
    fc.oneof(
      { weight: 12, arbitrary: fc.constant<Step[]>([]) },
      {
        weight: 1,
        arbitrary: fc
          .integer({ min: 1, max: 31 })
          .map((halfSeconds): Step[] => [{ do: 'real time', halfSeconds }]),
      },
      // More than two seconds at once.
      {
        weight: 1,
        arbitrary: fc
          .integer({ min: 10, max: 40 })
          .map((count): Step[] => Array(count).fill({ do: 'audio', bytes: 3_200, cuts: [] })),
      },
    ),
  )
  .map(([frames, long]) => [START, READY, ...long, ...frames, END]);

/** A recording with something put in, left out or done twice. */
const disturbed = fc
  .tuple(
    recording,
    fc.array(fc.tuple(fc.nat(), fc.nat({ max: 1 }), fc.array(anyStep, { maxLength: 1 })), { maxLength: 2 }),
  )
  .map(([steps, changes]) =>
    changes.reduce((before, [place, removed, inserted]) => {
      const at = place % (before.length + 1);
      return [...before.slice(0, at), ...inserted, ...before.slice(at + removed)];
    }, steps),
  );

const mostly = <T>(usual: T, ...others: T[]) =>
  fc.oneof(
    { weight: 7, arbitrary: fc.constant(usual) },
    { weight: 3, arbitrary: fc.constantFrom(...others) },
  );

export const streamCase: fc.Arbitrary<StreamCase> = fc.record({
  token: mostly<StreamCase['token']>('in the header', 'in start', 'in start', 'wrong in start', 'none'),
  trouble: mostly<StreamCase['trouble']>('none', 'busy', 'model fails', 'model hangs'),
  inOnePiece: fc.boolean(),
  steps: fc.oneof(
    { weight: 1, arbitrary: recording },
    { weight: 4, arbitrary: disturbed },
    { weight: 1, arbitrary: fc.array(anyStep, { maxLength: 8 }) },
  ),
});
