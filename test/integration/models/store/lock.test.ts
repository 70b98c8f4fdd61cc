import { readdir, symlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { ModelFailure } from '../../../../models/failure.ts';
import { acquireLock } from '../../../../models/store/lock.ts';
import { testFolder } from '../../../support/machine/folders.ts';

const OWN = `${process.pid}@${hostname()}`;

describe("a model's lock", () => {
  let folder: string;
  let path: string;
  beforeEach(() => {
    folder = testFolder();
    path = join(folder, 'small.lock');
  });

  it('is held by one, and free after release', async () => {
    const release = await acquireLock(path);
    await expect(acquireLock(path)).rejects.toThrow(
      new ModelFailure(
        `process ${OWN} is working on this model: wait until it has finished; if it is gone, delete ${path}`,
      ),
    );
    await release();
    await (await acquireLock(path))();
    expect(await readdir(folder)).toEqual([]);
  });

  it('goes to exactly one of many that want it at once', async () => {
    const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => acquireLock(path)));
    expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(1);
  });

  it.each([
    // Higher than any process id of this machine.
    ['a process of another machine', `${2 ** 22 + 1}@elsewhere`],
    ["another user's process", `1@${hostname()}`],
  ])('is not taken from %s', async (_, holder) => {
    await symlink(holder, path);
    vi.spyOn(process, 'kill').mockImplementation(() => {
      throw Object.assign(new Error('kill EPERM'), { code: 'EPERM' });
    });
    onTestFinished(() => void vi.restoreAllMocks());
    await expect(acquireLock(path)).rejects.toThrow(`process ${holder} is working on this model`);
  });
});
