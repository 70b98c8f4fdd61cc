import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** @returns the end to write to of a pipe that takes nothing any more */
export function fullPipe(): number {
  const folder = mkdtempSync(join(tmpdir(), 'asr-pipe-'));
  const path = join(folder, 'pipe');
  execFileSync('mkfifo', [path]);
  const end = openSync(path, constants.O_RDWR);
  const filling = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  onTestFinished(() => {
    closeSync(end);
    rmSync(folder, { recursive: true });
  });
  try {
    for (;;) writeSync(filling, Buffer.alloc(4_096));
  } catch {
    closeSync(filling);
  }
  return end;
}
