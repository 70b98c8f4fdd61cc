import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { createInterface } from 'node:readline';
import { onTestFinished } from 'vitest';

/** A program that was started as a person would, and what it printed. */
export interface Launched {
  readonly pid: number;
  readonly lines: readonly string[];
  /** The exit code, or the signal's name. */
  readonly ended: Promise<number | string>;
  /**
   * Waits for a line that holds `text`; bounded by the test's own time limit.
   * @throws Error when the program ends without it.
   */
  line(text: string): Promise<string>;
}

interface LaunchOptions {
  /** An open file in place of both standard streams: then there are no lines. */
  readonly output?: number | 'pipe';
  /** As on a terminal, whose Ctrl-C reaches all of a process group. */
  readonly ownGroup?: boolean;
}

/** In an environment in which nothing else is set. It does not outlive the test. */
export function launch(
  file: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  { output = 'pipe', ownGroup = false }: LaunchOptions = {},
): Launched {
  const { PATH = '', HOME = '' } = process.env;
  const child = spawn(file, args, {
    cwd: tmpdir(),
    env: { PATH, HOME, ...env },
    stdio: ['ignore', output, output],
    detached: ownGroup,
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  if (child.pid === undefined) throw new Error(`${file} was not started`);
  const lines: string[] = [];
  for (const input of [child.stdout, child.stderr])
    if (input)
      createInterface({ input }).on('line', (line) => {
        lines.push(line);
        child.emit('line');
      });
  const ended = once(child, 'close').then(([code, signal]): number | string => signal ?? code);
  const line = async (text: string): Promise<string> => {
    for (;;) {
      const found = lines.find((one) => one.includes(text));
      if (found !== undefined) return found;
      const next = await Promise.race([once(child, 'line'), ended]);
      if (!Array.isArray(next)) throw new Error(`ended without "${text}":\n${lines.join('\n')}`);
    }
  };
  return { pid: child.pid, lines, ended, line };
}

/** The processes that `parent` has started, by Linux' own table. */
export async function childrenOf(parent: number): Promise<{ pid: number; command: string }[]> {
  const pids = (await readdir('/proc')).map(Number).filter((pid) => pid > 0);
  const all = await Promise.all(pids.map(async (pid) => ({ pid, status: await statusOf(pid) })));
  const children = all.filter(({ status }) => status?.parent === parent);
  return Promise.all(
    children.map(async ({ pid }) => ({ pid, command: await readFile(`/proc/${pid}/cmdline`, 'utf8') })),
  );
}

export async function environmentOf(pid: number): Promise<Record<string, string>> {
  const entries = (await readFile(`/proc/${pid}/environ`, 'utf8')).split('\0');
  return Object.fromEntries(entries.map((entry) => entry.split(/=(.*)/s, 2)));
}

/** Those of `pids` that still run. */
export async function stillRunning(pids: readonly number[]): Promise<number[]> {
  const states = await Promise.all(pids.map(statusOf));
  return pids.filter((_, index) => states[index] !== undefined);
}

/**
 * @returns undefined when there is no such process (any more), or it only waits to be collected by its
 * parent.
 */
async function statusOf(pid: number): Promise<{ parent: number } | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  const [state = 'Z', parent = ''] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return state === 'Z' || stat === '' ? undefined : { parent: Number(parent) };
}
