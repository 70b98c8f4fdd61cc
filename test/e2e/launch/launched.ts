import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { packageRoot } from '../../../common/process/package-root.ts';

/** A program that was started as a person would, and what it printed. */
export class Launched {
  readonly child: ChildProcess;
  readonly pid: number;
  /** The exit code, or the signal's name. */
  readonly ended: Promise<number | string>;
  readonly lines: string[] = [];
  readonly #events = new EventEmitter();
  #silent = false;

  constructor(child: ChildProcess) {
    this.child = child;
    if (child.pid === undefined) throw new Error('it was not started');
    this.pid = child.pid;
    this.ended = once(child, 'close').then(([code, signal]: (number | string | null)[]) => {
      this.#silent = true;
      this.#events.emit('change');
      return signal ?? code ?? 'unknown';
    });
    for (const input of [child.stdout, child.stderr])
      if (input)
        createInterface({ input }).on('line', (line) => {
          this.lines.push(line);
          this.#events.emit('change');
        });
  }

  /** Waits for a line that holds `text`; bounded by the test's own time limit. @throws Error when the program ends without it. */
  async line(text: string): Promise<string> {
    for (;;) {
      const found = this.lines.find((line) => line.includes(text));
      if (found !== undefined) return found;
      if (this.#silent) throw new Error(`ended without "${text}":\n${this.lines.join('\n')}`);
      await once(this.#events, 'change');
    }
  }
}

/**
 * Its own home and temporary folder, so that what is left behind can be seen.
 * @param output an open file in place of both standard streams: then there are no lines
 * @param ownGroup as on a terminal, whose Ctrl-C reaches all of a process group
 */
export async function startLaunched(
  env: Readonly<Record<string, string>>,
  output: number | 'pipe' = 'pipe',
  ownGroup = false,
): Promise<{ launched: Launched; temp: string }> {
  const temp = await mkdtemp(join(tmpdir(), 'asr-launch-test-'));
  const program = join(packageRoot(), 'dist/launch/supervisor/start.js');
  const child = spawn(process.execPath, [program], {
    env: { ...baseEnv(), TMPDIR: temp, HOME: temp, ...env },
    stdio: ['ignore', output, output],
    detached: ownGroup,
  });
  return { launched: new Launched(child), temp };
}

/** The environment of somebody who has set nothing. */
export function baseEnv(): Record<string, string> {
  const { PATH, HOME } = process.env;
  return { PATH: PATH ?? '', HOME: HOME ?? '' };
}

/** Ends what a failed test has left running. */
export async function tidy(pids: Iterable<number>, ...folders: readonly string[]): Promise<void> {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended, as it should.
    }
  }
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
}

export interface ProcessEntry {
  readonly pid: number;
  readonly command: string;
}

/** The processes that `parent` has started, by Linux' own table. */
export async function childrenOf(parent: number): Promise<ProcessEntry[]> {
  const entries = await Promise.all(
    (await readdir('/proc'))
      .filter((name) => /^\d+$/.test(name))
      .map(async (name) => ({ pid: Number(name), status: await statusOf(Number(name)) })),
  );
  const children = entries.filter(({ status }) => status?.parent === parent && status.state !== 'Z');
  return Promise.all(children.map(async ({ pid }) => ({ pid, command: await commandOf(pid) })));
}

export async function environmentOf(pid: number): Promise<Record<string, string>> {
  const text = await readFile(`/proc/${pid}/environ`, 'utf8');
  return Object.fromEntries(
    text.split('\0').map((entry) => {
      const at = entry.indexOf('=');
      return [entry.slice(0, at), entry.slice(at + 1)];
    }),
  );
}

/** Those of `pids` that still run. One that has ended and waits to be collected by its parent does not. */
export async function stillRunning(pids: readonly number[]): Promise<number[]> {
  const states = await Promise.all(pids.map(async (pid) => ({ pid, status: await statusOf(pid) })));
  return states.filter(({ status }) => status !== undefined && status.state !== 'Z').map(({ pid }) => pid);
}

async function commandOf(pid: number): Promise<string> {
  return (await readFile(`/proc/${pid}/cmdline`, 'utf8')).replaceAll('\0', ' ').trim();
}

/** @returns undefined when there is no such process (any more). */
async function statusOf(pid: number): Promise<{ state: string; parent: number } | undefined> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    const [state = '', parent = ''] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { state, parent: Number(parent) };
  } catch {
    return undefined;
  }
}
