import { describe, expect, test } from 'vitest';
import { resumePoint } from '../../../../common/sessions/session-resume.ts';

const claimed = (by: string) => ({ kind: 'claimed', by }) as const;

describe('where a session goes on', () => {
  test('nowhere, before anybody has claimed it', () => {
    expect(resumePoint([])).toEqual({ claimants: 0, takenBytes: 0, revision: 0, text: '' });
  });

  test('behind what the processes before took, with the last partial', () => {
    const point = resumePoint([
      claimed('a'),
      { kind: 'progress', takenBytes: 16_000 },
      { kind: 'partial', takenBytes: 16_000, revision: 1, text: '汤' },
      { kind: 'progress', takenBytes: 32_000 },
      { kind: 'partial', takenBytes: 32_000, revision: 2, text: '汤姆' },
      { kind: 'progress', takenBytes: 48_000 },
      claimed('b'),
    ]);
    expect(point).toEqual({ claimants: 2, takenBytes: 48_000, revision: 2, text: '汤姆' });
  });

  test('never before what an earlier process took: the next one begins again from the first frame', () => {
    const point = resumePoint([
      claimed('a'),
      { kind: 'progress', takenBytes: 48_000 },
      claimed('b'),
      { kind: 'progress', takenBytes: 16_000 },
      claimed('c'),
    ]);
    expect(point).toMatchObject({ claimants: 3, takenBytes: 48_000 });
  });

  test('a process that lost its lease and claims it again counts once', () => {
    expect(resumePoint([claimed('a'), claimed('b'), claimed('a'), claimed('b')]).claimants).toBe(2);
  });
});
