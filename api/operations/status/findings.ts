import { audioMs, MAX_BACKLOG_BYTES } from '../../../common/audio/limits.ts';
import { quoted } from '../../../common/errors/printable.ts';
import { FOREIGN_KEY, remedyFor } from '../../../common/redis/advice/remedies.ts';
import { SLOT_TTL_MS } from '../../../common/slot/slot.ts';
import { UPLOAD_DEADLINE_MS } from '../../../common/uploads/upload-jobs.ts';
import type { InferenceProcess } from '../service-state.ts';
import type { Status } from './status.ts';

/** Something that is wrong. */
export interface Finding {
  readonly about: 'slot' | 'queue' | 'recognizers' | 'redis' | 'versions';
  readonly wrong: string;
  readonly todo: string;
}

/** The longest upload waits for 60 s, and a stream lasts 40 s. Some time is added, as in the alert AsrSlotStuck. */
const LONGEST_SLOT_MS = UPLOAD_DEADLINE_MS + 30_000;
/** Heartbeats come once a second. */
const LATE_HEARTBEAT_MS = 2_000;
/** An upload's job is taken at once. Behind another's call it waits for no longer than that one's slot. */
const LONG_WAIT_MS = 10_000;
/** A job ends within some milliseconds of its slot. */
const STRAY_MS = 2_000;
/** As in the alert AsrRedisFull. */
const FULL_SHARE = 0.9;
const LONG_BACKLOG_MS = audioMs(MAX_BACKLOG_BYTES) / 2;

/** @param version of this program. @returns what is wrong with the service, the worst first; nothing while all is well */
export function findings(status: Status, version: string): Finding[] {
  const { redis, recognizers } = status;
  return [
    ...redis.warnings.map((warning): Finding => {
      const [wrong = '', ...todo] = warning.split('; ');
      return { about: 'redis', wrong, todo: todo.join('; ') };
    }),
    ...ofRedis(status),
    ...(status.isKnown ? ofRecognizers(recognizers) : []),
    ...ofSlot(status),
    ...ofQueue(status),
    ...ofVersions(recognizers, version),
  ];
}

function ofRedis({ refused, memoryShare = 0 }: Status): Finding[] {
  const about = 'redis';
  const found: Finding[] = [];
  if (memoryShare >= FULL_SHARE) {
    const wrong = `${Math.floor(100 * memoryShare)} % of its maxmemory are used: when it is full, clients get not_ready`;
    const todo = 'raise its maxmemory (the service needs less than 16 MB), or find what else fills it';
    found.push({ about, wrong, todo });
  }
  for (const words of refused)
    found.push({
      about,
      wrong: `it refuses: ${words}`,
      todo: remedyFor(words) ?? 'look into its own log, and at what its user may do: redis-cli ACL LIST',
    });
  return found;
}

function ofRecognizers(recognizers: readonly InferenceProcess[]): Finding[] {
  const about = 'recognizers';
  const found: Finding[] = recognizers
    .filter(({ heartbeatAgeMs }) => heartbeatAgeMs > LATE_HEARTBEAT_MS)
    .map(({ id, heartbeatAgeMs }) => ({
      about,
      wrong: `${id} last reported ${seconds(heartbeatAgeMs)} ago; after 3 s it counts as gone`,
      todo: 'look whether it runs, at the load of its machine, and at Redis',
    }));
  for (const { id, error } of recognizers) {
    if (error === undefined) continue;
    const todo = 'read its line "the model does not load", and mend the folder: it tries again at once';
    found.push({ about, wrong: `${id} does not load its model (${error})`, todo });
  }
  const ready = recognizers.filter(({ state }) => state === 'ready');
  const models = new Set(ready.map(({ model }) => model));
  if (models.size > 1)
    found.push({
      about,
      wrong: `several models answer (${[...models].join(', ')}): the text of a recording depends on who takes it`,
      todo: 'give all of them the same ASR_MODEL',
    });
  if (ready.length > 0) return found;
  if (recognizers.length === 0) {
    const wrong = 'no inference process has reported: clients get not_ready';
    const todo = 'start one, with the REDIS_URL and ASR_KEY_PREFIX of the API, and read its log';
    return [{ about, wrong, todo }];
  }
  if (found.length > 0) return found;
  const todo = 'wait until its model is loaded, or start another one';
  return [{ about, wrong: 'no inference process is ready yet: clients get not_ready', todo }];
}

function ofSlot({ slot }: Status): Finding[] {
  if (slot === undefined) return [];
  const about = 'slot';
  if (slot.owner === undefined)
    return [{ about, wrong: `its value is not of this service: ${quoted(slot.holder)}`, todo: FOREIGN_KEY }];
  if (slot.ageMs > LONGEST_SLOT_MS) {
    const wrong = `one recording has had it for ${seconds(slot.ageMs)}; the longest takes ${seconds(UPLOAD_DEADLINE_MS)}. Everybody else gets busy`;
    const todo = `restart the replica ${slot.owner.replica}, and inference if that does not help: what nobody renews is free within ${seconds(SLOT_TTL_MS)}`;
    return [{ about, wrong, todo }];
  }
  if ((slot.backlogMs ?? 0) <= LONG_BACKLOG_MS) return [];
  return [
    {
      about,
      wrong: `${seconds(slot.backlogMs ?? 0)} of its audio wait for the model; over ${seconds(2 * LONG_BACKLOG_MS)} end it as overloaded`,
      todo: 'where this happens often, take a smaller model or more ASR_THREADS',
    },
  ];
}

function ofQueue({ slot, queue: { failed, activeIds, waitedMs } }: Status): Finding[] {
  const about = 'queue';
  const found: Finding[] = [];
  const todo = 'read the log of inference; if this stays, restart it';
  for (const id of activeIds)
    if (slot?.owner !== undefined && slot.owner.id !== id && slot.ageMs > STRAY_MS)
      found.push({
        about,
        wrong: `inference is busy with the upload ${id}, which has no slot any more`,
        todo,
      });
  if (waitedMs > LONG_WAIT_MS)
    found.push({ about, wrong: `an upload has waited for inference for ${seconds(waitedMs)}`, todo });
  if (failed > 0) {
    const wrong = `uploads that failed within the last minute: ${failed}`;
    found.push({ about, wrong, todo: 'read their reason in the log of inference (msg "upload")' });
  }
  return found;
}

function ofVersions(recognizers: readonly InferenceProcess[], version: string): Finding[] {
  const others = new Set(
    recognizers.map((each) => each.version ?? 'an older one').filter((one) => one !== version),
  );
  if (others.size === 0) return [];
  const wrong = `inference runs ${[...others].join(', ')}, and this is ${version}`;
  return [{ about: 'versions', wrong, todo: 'finish the upgrade: both work together meanwhile' }];
}

export function seconds(durationMs: number): string {
  return `${(durationMs / 1000).toFixed(1)} s`;
}
