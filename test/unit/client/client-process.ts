import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { packageRoot } from '../../../common/process/package-root.ts';
import { wavFile } from '../../support/audio/wav.ts';
import { fileFolder } from '../../support/machine/folders.ts';
import type { ScriptedService } from './scripted-service.ts';
import { TOKEN } from './sessions.ts';

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The built command. */
export const CLI = join(packageRoot(), 'client/dist/cli.js');

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

/** For the tests of one file: a folder of recordings, and the command run against the present service. */
export function clientRuns(service: () => ScriptedService) {
  const folder = fileFolder();
  const file = (name: string, content: string | Buffer): string => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  const start = (args: readonly string[], env: Record<string, string> = {}) =>
    startClient(args, { ASR_URL: service().url, ASR_API_TOKEN: TOKEN, ...env });
  const run = (args: readonly string[], env?: Record<string, string>, stdin?: Buffer): Promise<Ended> => {
    const child = start(args, env);
    child.stdin.end(stdin);
    return whenEnded(child);
  };
  const good = file('good.wav', wavFile(Buffer.alloc(3_200, 1)));
  return { folder, file, start, run, good };
}
