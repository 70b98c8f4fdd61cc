import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { packageRoot } from '../../../../common/process/package-root.ts';

export const CLI = join(packageRoot(), 'dist', 'models', 'command', 'cli.js');
/** The same with another catalogue and folder, which its first argument names. */
export const SMALL_CLI = join(import.meta.dirname, 'cli-process.mjs');

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a script of the command line as a process of its own, which does not outlive the test. */
export function start(
  script: string,
  args: readonly string[],
  env: Record<string, string> = {},
  cwd?: string,
): { child: ChildProcess; finished: Promise<Finished> } {
  const { PATH = '' } = process.env;
  const child = spawn(process.execPath, [script, ...args], {
    env: { PATH, ...env },
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const finished = Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)]).then(
    ([[code], stdout, stderr]) => ({
      code: code as number | null,
      stdout,
      stderr,
    }),
  );
  return { child, finished };
}
