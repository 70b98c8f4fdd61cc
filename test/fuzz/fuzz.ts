import fc from 'fast-check';
import type { FuzzService } from './service.ts';

/** How one run of a property went. `report` is there when it failed: seed, smallest counterexample, error. */
interface FuzzRun {
  readonly cases: number;
  readonly report: string | undefined;
}

interface FuzzParameters {
  readonly seed: number;
  readonly cases: number;
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
/** How long a smaller case that fails too is looked for: where each one hangs that would take for ever. */
const SHRINK_LIMIT_MS = 60_000;

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
    run: (parameters) => check(arbitrary, async (value) => holds(value), parameters),
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
      const clean = async (value: T): Promise<void> => {
        try {
          await withinLimit(holds(value, service));
        } finally {
          await service.afterCase();
        }
      };
      return await check(arbitrary, clean, parameters);
    },
  };
}

async function check<T>(
  arbitrary: fc.Arbitrary<T>,
  holds: (value: T) => Promise<void>,
  { seed, cases }: FuzzParameters,
): Promise<FuzzRun> {
  let shrinkUntil = Number.POSITIVE_INFINITY;
  const property = fc.asyncProperty(arbitrary, async (value) => {
    if (performance.now() > shrinkUntil) return;
    try {
      await holds(value);
    } catch (error) {
      shrinkUntil = Math.min(shrinkUntil, performance.now() + SHRINK_LIMIT_MS);
      throw error;
    }
  });
  const details = await fc.check(property, { seed, numRuns: cases, includeErrorInReport: true });
  return {
    cases: details.numRuns,
    report: details.failed ? await fc.asyncDefaultReportMessage(details) : undefined,
  };
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

/**
 * The seed of `npm test`: always the same, so that a red run is about the change under test; FUZZ_SEED
 * repeats one that `npm run fuzz` found.
 */
function testSeed(): number {
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
