import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

const MAX_THREADS = 4;

/**
 * Threads to run a model with if none were configured: as many as the machine has physical cores, at most 4 and at most
 * what this process may use. A second thread on a core only takes time from the first.
 */
export function defaultThreads(): number {
  const cores = process.platform === 'linux' ? physicalCores(cpuinfo()) : undefined;
  return Math.max(1, Math.min(cores ?? availableParallelism(), availableParallelism(), MAX_THREADS));
}

function cpuinfo(): string {
  try {
    return readFileSync('/proc/cpuinfo', 'latin1');
  } catch {
    return ''; // a sandbox may hide it
  }
}

/**
 * Distinct pairs of socket and core; undefined where Linux does not say (ARM, some virtual machines).
 * @param text of /proc/cpuinfo
 */
export function physicalCores(text: string): number | undefined {
  const cores = new Set<string>();
  for (const processor of text.split('\n\n')) {
    const socket = /^physical id\s*:\s*(\d+)$/m.exec(processor)?.[1];
    const core = /^core id\s*:\s*(\d+)$/m.exec(processor)?.[1];
    if (core !== undefined) cores.add(`${socket}/${core}`);
  }
  return cores.size > 0 ? cores.size : undefined;
}
