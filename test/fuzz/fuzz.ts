import fc from 'fast-check';
import type { FuzzService } from './service.ts';

/** How one run of a property went. `report` is there when it failed: seed, smallest counterexample, error. */
export interface FuzzRun {
  readonly cases: number;
  readonly report: string | undefined;
}

export interface FuzzParameters {
  readonly seed: number;
  readonly cases: number;
  /** Ends a run early; what was done by then counts. */
  readonly limitMs?: number;
}

/** A property that must hold for every generated case. */
export interface Fuzz {
  readonly name: string;
  /** Cases in `npm test`. */
  readonly cases: number;
  /** Whether `run` needs a service. */
  readonly served: boolean;
  run(parameters: FuzzParameters, service?: FuzzService): Promise<FuzzRun>;
}

/** A case that takes longer hangs. */
const CASE_LIMIT_MS = 10_000;

/** A property of a function. */
export function pureFuzz<T>(
  name: string,
  cases: number,
  arbitrary: fc.Arbitrary<T>,
  holds: (value: T) => void | Promise<void>,
): Fuzz {
  return {
    name,
    cases,
    served: false,
    run: (parameters) =>
      check(
        fc.asyncProperty(arbitrary, async (value) => holds(value)),
        parameters,
      ),
  };
}

/** A property of the whole service; after each case the service must be as it was before. */
export function servedFuzz<T>(
  name: string,
  cases: number,
  arbitrary: fc.Arbitrary<T>,
  holds: (value: T, service: FuzzService) => Promise<void>,
): Fuzz {
  return {
    name,
    cases,
    served: true,
    async run(parameters, service) {
      if (service === undefined) throw new Error(`${name} needs a service`);
      const property = fc.asyncProperty(arbitrary, async (value) => {
        try {
          await withinLimit(holds(value, service));
        } finally {
          await service.afterCase();
        }
      });
      return await check(property, parameters);
    },
  };
}

async function check<T>(
  property: fc.IAsyncProperty<T>,
  { seed, cases, limitMs }: FuzzParameters,
): Promise<FuzzRun> {
  const details = await fc.check(property, {
    seed,
    numRuns: cases,
    includeErrorInReport: true,
    ...(limitMs === undefined ? {} : { interruptAfterTimeLimit: limitMs }),
  });
  if (!details.failed) return { cases: details.numRuns, report: undefined };
  // Interrupted before its first case had ended: that says nothing.
  if (details.interrupted && details.counterexample === null) return { cases: 0, report: undefined };
  return { cases: details.numRuns, report: await fc.asyncDefaultReportMessage(details) };
}

async function withinLimit(running: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`the case hangs (${CASE_LIMIT_MS} ms)`)), CASE_LIMIT_MS);
  });
  try {
    await Promise.race([running, limit]);
  } finally {
    clearTimeout(timer);
  }
}

const DEFAULT_SEED = 20_261_013;

/** The seed of `npm test`: always the same, so that a red run is about the change under test; FUZZ_SEED repeats one that `npm run fuzz` found. */
export function testSeed(): number {
  const given = process.env['FUZZ_SEED'];
  if (given === undefined || given === '') return DEFAULT_SEED;
  const seed = Number(given);
  if (!Number.isSafeInteger(seed)) throw new Error(`FUZZ_SEED is "${given}", not a whole number`);
  return seed;
}

/** One property in `npm test`. @throws Error with the report */
export async function mustHold(fuzz: Fuzz, service?: FuzzService): Promise<void> {
  const seed = testSeed();
  const { report } = await fuzz.run({ seed, cases: fuzz.cases }, service);
  if (report !== undefined) throw new Error(`${fuzz.name} (FUZZ_SEED=${seed}): ${report}`);
}
