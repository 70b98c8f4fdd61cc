import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { testFolder } from './folders.ts';

/** @returns the end to write to of a pipe that takes nothing any more */
export function fullPipe(): number {
  const path = join(testFolder(), 'pipe');
  execFileSync('mkfifo', [path]);
  const end = openSync(path, constants.O_RDWR);
  const filling = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  onTestFinished(() => closeSync(end));
  try {
    for (;;) writeSync(filling, Buffer.alloc(4_096));
  } catch {
    closeSync(filling);
  }
  return end;
}
