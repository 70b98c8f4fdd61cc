import { MAX_BACKLOG_BYTES } from '../../common/audio/limits.ts';
import { unreachable } from '../../common/errors/errors.ts';
import type { Clip, Outcome, Pace } from './clients.ts';
import type { KeptRun } from './kept-process.ts';

/** A request, and what it met. */
export interface Request {
  readonly clip: Clip;
  /** Undefined for an upload. */
  readonly pace: Pace | undefined;
  /** The replica that serves it. */
  readonly api: string;
  /** Nobody else asked for anything meanwhile. */
  readonly isAlone: boolean;
}

/**
 * Whether a request ended as it may.
 * @param hit processes that were killed or stopped since all was well, `redis`, and `attack on …`  @param text of an undisturbed run
 * @returns what is wrong, for a person
 */
export function wrongWith(
  request: Request,
  outcome: Outcome,
  hit: ReadonlySet<string>,
  text: string | undefined,
): string | undefined {
  switch (outcome.kind) {
    case 'left':
      return undefined;
    case 'text':
      return outcome.text === text ? undefined : `the text is "${outcome.text}" instead of "${text}"`;
    case 'closed':
      return hit.has(request.api) ? undefined : `there was no answer: ${outcome.how}`;
    case 'undocumented':
      return outcome.what;
    case 'error':
      return mayBeTold(outcome.code, request, hit) ? undefined : `the error is ${outcome.code}`;
    default:
      return unreachable(outcome);
  }
}

function mayBeTold(code: string, { clip, pace, api, isAlone }: Request, hit: ReadonlySet<string>): boolean {
  // A replica that stands still for too long loses its slot. An attack on one leaves the others too little of two cores.
  const isCaused = hit.has(api) || [...hit].some((name) => /^(redis|inference|attack)/.test(name));
  switch (code) {
    case 'busy':
      return !isAlone || hit.size > 0;
    case 'not_ready':
    case 'inference_failed':
      return isCaused;
    case 'overloaded':
      return (pace === 'in a burst' && clip.pcm.length > MAX_BACKLOG_BYTES) || isCaused;
    default:
      return false;
  }
}

/** One model call. Times are those of `Date.now()`. */
export interface ModelCall {
  readonly process: string;
  readonly fence: number;
  readonly beganAtMs: number;
  /** When it returned, or its process ended; infinite while it runs. */
  readonly endedAtMs: number;
  /** Its process stood still at this time, and could not say that the call goes on. */
  readonly stoodStillAtMs: number | undefined;
}

/** The model calls of these runs, by when they began. */
export function modelCalls(runs: readonly KeptRun[]): ModelCall[] {
  const calls = runs.flatMap(({ name, process, stops, endedAtMs }): ModelCall[] => {
    const ends = process.logged('model call ends').map(timeAndFence);
    return process.logged('model call begins').map((line) => {
      const { fence, atMs: beganAtMs } = timeAndFence(line);
      const end = ends.find((other) => other.fence === fence && other.atMs >= beganAtMs);
      if (end) ends.splice(ends.indexOf(end), 1);
      const callEndedAtMs = end?.atMs ?? endedAtMs;
      const stop = stops.find(({ fromMs, toMs }) => fromMs <= callEndedAtMs && toMs >= beganAtMs);
      return { process: name, fence, beganAtMs, endedAtMs: callEndedAtMs, stoodStillAtMs: stop?.fromMs };
    });
  });
  return calls.sort((one, other) => one.beganAtMs - other.beganAtMs);
}

function timeAndFence({ time, fence }: Record<string, unknown>): { atMs: number; fence: number } {
  return { atMs: Date.parse(String(time)), fence: Number(fence) };
}

/**
 * Two recognitions at once: a call that began while another process was in one, unless that one stood still;
 * and a call for work that was over already.
 * @param calls by when they began. @returns what is wrong, for a person
 */
export function callsAtOnce(calls: readonly ModelCall[]): string | undefined {
  for (const [index, call] of calls.entries()) {
    const began = `${call.process} began a model call at ${new Date(call.beganAtMs).toISOString()}`;
    for (const before of calls.slice(0, index)) {
      if (before.fence > call.fence) return `${began} with fence ${call.fence}, after ${before.fence}`;
      const isOver = before.endedAtMs <= call.beganAtMs || before.process === call.process;
      const stoodStill = before.stoodStillAtMs !== undefined && before.stoodStillAtMs <= call.beganAtMs;
      if (!isOver && !stoodStill) return `${began}, while ${before.process} was in one`;
    }
  }
  return undefined;
}
