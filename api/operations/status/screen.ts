import { basename } from 'node:path';
import { printable } from '../../../common/errors/printable.ts';
import type { InferenceProcess, TakenSlot } from '../service-state.ts';
import { type Finding, seconds } from './findings.ts';
import type { RedisStatus, Status } from './status.ts';

const MAX_COLUMNS = 300;
const MEBIBYTE = 2 ** 20;

/** The status for a person: a paragraph for each part, as far as it is known, then what is wrong. */
export function screen(status: Status | undefined, found: readonly Finding[]): string {
  const lines = [
    ...(status === undefined ? [] : [...parts(status), '']),
    found.length === 0 ? 'All is well.' : 'What is wrong, and what to do:',
    ...found.flatMap(({ about, wrong, todo }) => [`- ${about}: ${wrong}.`, `  → ${todo}`]),
  ];
  // Names and values come from the store, where others may write, however much.
  return lines.map((line) => printable(line.slice(0, MAX_COLUMNS))).join('\n');
}

function parts({ isKnown, slot, queue, recognizers, replicas, redis }: Status): string[] {
  const none = isKnown ? 'none' : '?';
  return [
    ...part('slot', slot === undefined ? [isKnown ? 'free' : '?'] : slotLines(slot)),
    ...part('queue', [
      `${queue.waiting} waiting, ${queue.active} active, ${queue.failed} failed within a minute`,
    ]),
    ...part('recognizers', recognizers.length === 0 ? [none] : recognizers.map(recognizerLine)),
    ...part(
      'replicas',
      replicas.length === 0 ? [none] : replicas.map(({ id, version }) => `${id}: version ${version}`),
    ),
    ...part('redis', [redisLine(redis)]),
  ];
}

function part(name: string, lines: readonly string[]): string[] {
  return lines.map((line, index) => `${(index === 0 ? name : '').padEnd(13)}${line}`);
}

/** Who has the slot. */
export function slotLines({ owner, holder, ageMs, leftMs, backlogMs }: TakenSlot): string[] {
  const left = leftMs === undefined ? 'without end' : `free in ${seconds(leftMs)} if nobody renews it`;
  if (owner === undefined) return [`taken, ${left}, by ${holder.slice(0, MAX_COLUMNS / 2)}`];
  const what = owner.via === 'ws' ? 'a stream' : 'an upload';
  const backlog = backlogMs === undefined ? '' : `, backlog ${seconds(backlogMs)}`;
  return [
    `taken by ${what} for ${seconds(ageMs)}, ${left}${backlog}`,
    `id ${owner.id}, replica ${owner.replica}, since ${owner.since}`,
  ];
}

function recognizerLine({
  id,
  state,
  model,
  family,
  provider,
  version,
  heartbeatAgeMs,
  error,
}: InferenceProcess): string {
  const what = model === undefined ? '' : `, ${basename(model)} (${family ?? '?'}, ${provider ?? '?'})`;
  const failure = error === undefined ? '' : `, ${error}`;
  return `${id}: ${state}${what}${failure}, version ${version ?? '?'}, heartbeat ${seconds(heartbeatAgeMs)} ago`;
}

function redisLine({ version = '?', usedBytes, maxBytes, persists }: RedisStatus): string {
  const of = maxBytes === undefined || maxBytes === 0 ? '' : ` of ${mebibytes(maxBytes)}`;
  const disk = { true: 'writes to a disk', false: 'writes to no disk', undefined: 'may write to a disk' };
  return `${version}, ${usedBytes === undefined ? '?' : mebibytes(usedBytes)}${of}, ${disk[`${persists}`]}`;
}

function mebibytes(bytes: number): string {
  return `${(bytes / MEBIBYTE).toFixed(1)} MiB`;
}
