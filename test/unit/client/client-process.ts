import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { packageRoot } from '../../../common/process/package-root.ts';

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The built command. */
export const CLI = join(packageRoot(), 'api/client/dist/cli.js');

/** Starts the built asr-client as a process of its own, with nothing but `env` and PATH in its environment. */
export function startClient(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): ChildProcessWithoutNullStreams {
  return spawn(process.execPath, [CLI, ...args], {
    env: { PATH: process.env['PATH'], ...env },
  });
}

export async function whenEnded(child: ChildProcessWithoutNullStreams): Promise<Ended> {
  const code = new Promise<number | null>((resolve) => child.on('close', resolve));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: await code, stdout, stderr };
}

/** The lines of `--json`. */
export const jsonLines = (stdout: string): unknown[] =>
  stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
