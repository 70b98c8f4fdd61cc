import { expect, test } from 'vitest';
import type { InferenceProcess, TakenSlot } from '../../../../api/operations/service-state.ts';
import { findings } from '../../../../api/operations/status/findings.ts';
import { screen } from '../../../../api/operations/status/screen.ts';
import type { Status } from '../../../../api/operations/status/status.ts';

const VERSION = '1.0.0';
const READY: InferenceProcess = {
  id: 'gpu-1:7:ab',
  host: 'gpu-1',
  pid: 7,
  state: 'ready',
  model: '/models/x-asr',
  family: 'zipformer2-ctc',
  provider: 'cuda',
  version: '1.0.0',
  heartbeatAgeMs: 400,
};
const TAKEN: TakenSlot = {
  holder: '{}',
  owner: { id: '843f', via: 'ws', replica: 'web-2:4711', since: '2026-11-28T03:00:12.345Z' },
  ageMs: 12_340,
  leftMs: 4_600,
  backlogMs: 400,
};
const WELL: Status = {
  isKnown: true,
  slot: undefined,
  replicas: [{ id: 'web-1:4711', version: '1.0.0' }],
  memoryShare: undefined,
  refused: [],
  recognizers: [READY],
  queue: { waiting: 0, active: 0, failed: 0, activeIds: [], waitedMs: 0 },
  redis: { version: '7.0.15', usedBytes: 2 ** 21, maxBytes: 2 ** 28, persists: false, warnings: [] },
};

const { version: _, ...old } = READY;
const { model: __, ...loading } = { ...READY, state: 'loading' as const };

test.each<[string, Partial<Status>, string[], string]>([
  ['all is well', {}, [], 'All is well.'],
  ['a slot that is taken is no fault', { slot: TAKEN }, [], 'taken by a stream for 12.3 s, free in 4.6 s'],
  ['no recognizer', { recognizers: [] }, ['recognizers'], 'start one, with the REDIS_URL'],
  ['one that loads', { recognizers: [loading] }, ['recognizers'], 'wait until its model is loaded'],
  [
    'one that cannot load',
    { recognizers: [{ ...loading, error: 'ModelLoadError' }] },
    ['recognizers'],
    'gpu-1:7:ab does not load its model (ModelLoadError).',
  ],
  [
    'one that cannot load beside one that is ready',
    { recognizers: [READY, { ...loading, id: 'b', error: 'ModelLoadError' }] },
    ['recognizers'],
    'b does not load its model',
  ],
  [
    'a late heartbeat',
    { recognizers: [{ ...READY, heartbeatAgeMs: 2_500 }] },
    ['recognizers'],
    'last reported 2.5 s ago',
  ],
  [
    'two models',
    { recognizers: [READY, { ...READY, id: 'b', model: 'bundled' }] },
    ['recognizers'],
    'several models answer (/models/x-asr, bundled)',
  ],
  [
    'another version',
    { recognizers: [{ ...READY, version: '1.1.0' }] },
    ['versions'],
    'inference runs 1.1.0, and this is 1.0.0',
  ],
  ['a version that says none', { recognizers: [old] }, ['versions'], 'inference runs an older one'],
  [
    'a slot held for too long',
    { slot: { ...TAKEN, ageMs: 90_100 } },
    ['slot'],
    'restart the replica web-2:4711, and inference if that does not help: what nobody renews is free within 5.0 s',
  ],
  ['a slot held for as long as may be', { slot: { ...TAKEN, ageMs: 90_000 } }, [], 'All is well.'],
  [
    'a slot of a stranger',
    { slot: { ...TAKEN, owner: undefined, holder: 'x\u001b[2J', leftMs: undefined } },
    ['slot'],
    'taken, without end, by x\\u{1b}[2J',
  ],
  [
    'a backlog',
    { slot: { ...TAKEN, backlogMs: 1_100 } },
    ['slot'],
    '1.1 s of its audio wait for the model; over 2.0 s',
  ],
  [
    'failed uploads',
    { queue: { ...WELL.queue, failed: 2 } },
    ['queue'],
    'uploads that failed within the last minute: 2',
  ],
  [
    'an upload that is recognized while the slot is another',
    { slot: TAKEN, queue: { ...WELL.queue, active: 1, activeIds: ['a1'] } },
    ['queue'],
    'inference is busy with the upload a1, which has no slot any more',
  ],
  [
    'one whose slot has only just changed hands',
    { slot: { ...TAKEN, ageMs: 2_000 }, queue: { ...WELL.queue, active: 1, activeIds: ['a1'] } },
    [],
    'All is well.',
  ],
  [
    'one that has the slot',
    { slot: TAKEN, queue: { ...WELL.queue, active: 1, activeIds: ['843f'] } },
    [],
    'All is well.',
  ],
  [
    'an upload that nobody takes',
    { queue: { ...WELL.queue, waiting: 1, waitedMs: 10_100 } },
    ['queue'],
    'an upload has waited for inference for 10.1 s',
  ],
  [
    'a Redis that refuses to be read',
    { isKnown: false, recognizers: [], replicas: [], refused: ['NOPERM x'] },
    ['redis'],
    'slot         ?\nqueue        0 waiting, 0 active, 0 failed within a minute\nrecognizers  ?\nreplicas     ?',
  ],
  [
    'a Redis that persists',
    {
      redis: {
        ...WELL.redis,
        persists: true,
        warnings: ['this Redis may write recordings to disk; start it with: x'],
      },
    },
    ['redis'],
    '- redis: this Redis may write recordings to disk.\n  → start it with: x',
  ],
  [
    'a Redis that says nothing of itself',
    {
      redis: {
        version: undefined,
        usedBytes: undefined,
        maxBytes: undefined,
        persists: undefined,
        warnings: [],
      },
    },
    [],
    'redis        ?, ?, may write to a disk',
  ],
])('%s', (_name, part, about, text) => {
  const status = { ...WELL, ...part };
  const found = findings(status, VERSION);
  expect(found.map((finding) => finding.about)).toEqual(about);
  expect(screen(status, found)).toContain(text);
});

test('the whole of it', () => {
  expect(
    screen({ ...WELL, slot: TAKEN }, []),
  ).toBe(`slot         taken by a stream for 12.3 s, free in 4.6 s if nobody renews it, backlog 0.4 s
             id 843f, replica web-2:4711, since 2026-11-28T03:00:12.345Z
queue        0 waiting, 0 active, 0 failed within a minute
recognizers  gpu-1:7:ab: ready, x-asr (zipformer2-ctc, cuda), version 1.0.0, heartbeat 0.4 s ago
replicas     web-1:4711: version 1.0.0
redis        7.0.15, 2.0 MiB of 256.0 MiB, writes to no disk

All is well.`);
});
