import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { messageOf } from '../../common/errors/errors.ts';
import { ATTACKS } from '../support/clients/attacks.ts';
import { ChaosService, CLIP_SECONDS, INFERENCES, REPLICAS, type RedisFault } from './chaos-service.ts';
import type { Tally } from './tally.ts';

export interface WalkSettings {
  readonly seed: number;
  readonly mostSteps: number;
  /** How long a process or Redis may stand still, be away, slow or full. */
  readonly longestFaultMs: number;
  /** As ASR_MODEL names it. */
  readonly model: string;
  /** Smaller walks that are tried after one that failed. Each is a real run. */
  readonly shrinks: number;
  /** Hears of each walk that failed. */
  readonly say: (line: string) => void;
}

interface FailedWalk {
  /** What was broken, and the steps of the smallest walk that broke it. */
  readonly report: string;
  /** Of that walk: what happened and what the processes logged. */
  readonly timeline: string;
}

/** What a step must know of those before it. */
interface WalkState {
  /** Clients that were begun since everything settled. */
  clients: number;
  isRedisHit: boolean;
}

interface Action {
  readonly name: string;
  readonly isPossible?: (state: WalkState) => boolean;
  readonly act: (service: ChaosService, state: WalkState) => unknown;
}

/** An action, a pause, and a look at the promises. */
class Step implements fc.AsyncCommand<WalkState, ChaosService> {
  readonly #action: Action;
  readonly #pauseMs: number;

  constructor(action: Action, pauseMs: number) {
    this.#action = action;
    this.#pauseMs = pauseMs;
  }

  check(state: Readonly<WalkState>): boolean {
    return this.#action.isPossible?.(state) ?? true;
  }

  async run(state: WalkState, service: ChaosService): Promise<void> {
    service.step(this.#action.name);
    await this.#action.act(service, state);
    await delay(this.#pauseMs);
    await service.check();
  }

  toString(): string {
    return `${this.#action.name}, then ${this.#pauseMs} ms`;
  }
}

/** Mostly while the work of the step before is under way: with the small model an upload takes 30 to 300 ms. */
const pauseMs = fc.oneof(fc.nat({ max: 60 }), fc.nat({ max: 800 }));

function steps(longestFaultMs: number): fc.Arbitrary<Step> {
  const seconds = fc.constantFrom(...CLIP_SECONDS);
  // A longer stream in real time makes no other walk.
  const streamedSeconds = fc.constantFrom(...CLIP_SECONDS.filter((length) => length <= 5));
  const replica = fc.nat({ max: REPLICAS - 1 });
  const name = fc.oneof(
    replica.map((index) => `api ${index}`),
    fc.nat({ max: INFERENCES - 1 }).map((index) => `inference ${index}`),
  );
  const ms = fc.integer({ min: 100, max: longestFaultMs });
  const began = (state: WalkState): void => {
    state.clients += 1;
  };

  const upload = fc.tuple(seconds, replica).map(
    ([length, index]): Action => ({
      name: `upload ${length} s at api ${index}`,
      act: (service, state) => {
        began(state);
        service.ask(length, index);
      },
    }),
  );
  const stream = fc
    .tuple(streamedSeconds, replica, fc.constantFrom('in real time' as const, 'in a burst' as const))
    .map(
      ([length, index, pace]): Action => ({
        name: `stream ${length} s at api ${index} ${pace}`,
        act: (service, state) => {
          began(state);
          service.ask(length, index, pace);
        },
      }),
    );
  const leave = fc.nat({ max: 9 }).map(
    (which): Action => ({
      name: `leave ${which}`,
      isPossible: ({ clients }) => clients > 0,
      act: (service) => service.leave(which),
    }),
  );
  const kill = name.map(
    (process): Action => ({
      name: `kill ${process}`,
      act: (service) => service.end(process, 'SIGKILL'),
    }),
  );
  const restart = name.map(
    (process): Action => ({
      name: `restart ${process}`,
      act: (service) => service.end(process, 'SIGTERM'),
    }),
  );
  const stop = fc.tuple(name, ms).map(
    ([process, forMs]): Action => ({
      name: `stop ${process} for ${forMs} ms`,
      act: (service) => service.standStill(process, forMs),
    }),
  );
  const redis = fc.tuple(fc.constantFrom<RedisFault>('gone', 'hung', 'slow', 'full'), ms).map(
    ([fault, forMs]): Action => ({
      name: `redis ${fault} for ${forMs} ms`,
      isPossible: ({ isRedisHit }) => !isRedisHit,
      act: (service, state) => {
        state.isRedisHit = true;
        return service.redis(fault, forMs);
      },
    }),
  );
  const attack = fc.tuple(fc.constantFrom(...ATTACKS.map(({ name }) => name)), replica, ms).map(
    ([what, index, forMs]): Action => ({
      name: `attack of ${what} at api ${index} for ${forMs} ms`,
      act: (service) => service.attack(what, index, forMs),
    }),
  );
  const settle = fc.constant<Action>({
    name: 'settle',
    act: (service, state) => {
      Object.assign(state, AT_REST);
      return service.settle();
    },
  });
  const action = fc.oneof(
    { weight: 5, arbitrary: upload },
    { weight: 5, arbitrary: stream },
    { weight: 2, arbitrary: leave },
    { weight: 2, arbitrary: kill },
    { weight: 1, arbitrary: restart },
    { weight: 2, arbitrary: stop },
    { weight: 3, arbitrary: redis },
    { weight: 2, arbitrary: attack },
    { weight: 3, arbitrary: settle },
  );
  return fc.tuple(action, pauseMs).map(([chosen, thenMs]) => new Step(chosen, thenMs));
}

const AT_REST: WalkState = { clients: 0, isRedisHit: false };

/** One random walk over a service of its own. @returns undefined when every promise was kept */
export async function walk(settings: WalkSettings, tally: Tally): Promise<FailedWalk | undefined> {
  const { seed, mostSteps, longestFaultMs, model, shrinks, say } = settings;
  let timeline = '';
  let tries = 0;
  const commands = fc.commands([steps(longestFaultMs)], {
    maxCommands: mostSteps,
    size: 'max',
    disableReplayLog: true,
  });
  const property = fc.asyncProperty(commands, async (walked) => {
    tries += 1;
    if (tries > 1 + shrinks) return;
    const service = await ChaosService.start(model, tally);
    try {
      await fc.asyncModelRun(() => ({ model: { ...AT_REST }, real: service }), walked);
      await service.settle();
    } catch (error) {
      timeline = service.timeline();
      say(`seed ${seed}, try ${tries} of at most ${1 + shrinks}: ${messageOf(error)}`);
      throw error;
    } finally {
      await service.stop();
    }
  });
  const details = await fc.check(property, { seed, numRuns: 1, unbiased: true, includeErrorInReport: true });
  if (!details.failed) return undefined;
  return { report: (await fc.asyncDefaultReportMessage(details)) ?? '', timeline };
}
