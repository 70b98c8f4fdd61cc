import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, onTestFinished } from 'vitest';

/** An empty folder that is gone when the test has ended. */
export function testFolder(): string {
  return goneAfter(onTestFinished);
}

/** An empty folder that is gone when all tests of this file, or of the `describe` around it, have ended. */
export function fileFolder(): string {
  return goneAfter(afterAll);
}

function goneAfter(when: (then: () => void) => void): string {
  const path = mkdtempSync(join(tmpdir(), 'asr-'));
  when(() => rmSync(path, { recursive: true, force: true }));
  return path;
}
