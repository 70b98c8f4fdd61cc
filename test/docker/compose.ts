import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, vi } from 'vitest';
import { packageRoot } from '../../common/process/package-root.ts';
import { freePort } from '../../launch/supervisor/ports.ts';
import { temporaryFolder } from '../support/tools/tool.ts';

const run = promisify(execFile);
const MAX_OUTPUT_BYTES = 32 * 1024 * 1024;

/** What the images of a test say of where they come from. */
export const REVISION = '0123456789abcdef0123456789abcdef01234567';
export const SOURCE = 'https://git.example/asr';

/** Builds targets of the Dockerfile as `chinese-asr-TARGET`, which Compose then finds. */
export async function buildImages(...targets: string[]): Promise<void> {
  const labels = ['--build-arg', `REVISION=${REVISION}`, '--build-arg', `SOURCE=${SOURCE}`];
  // The host's network: on some machines a build reaches the package registry by no other.
  for (const target of targets)
    await docker(
      'build',
      '--network=host',
      ...labels,
      '--target',
      target,
      '--tag',
      `chinese-asr-${target}`,
      '.',
    );
}

/** One deployment of docker-compose.yml under a name of its own. */
export class Compose {
  /** Of the load balancer on this machine, and of it and each replica inside. */
  readonly port: number;
  readonly origin: string;
  readonly token = randomBytes(24).toString('hex');
  readonly #project = `asr-test-${randomBytes(4).toString('hex')}`;
  /** With the options that name this deployment. */
  readonly command: readonly string[];
  readonly #folder = temporaryFolder();

  private constructor(command: readonly string[], port: number, settings: Readonly<Record<string, string>>) {
    this.port = port;
    this.origin = `http://127.0.0.1:${port}`;
    // Nothing but what a user has: .env made from .env.example.
    const file = join(this.#folder.path, '.env');
    const example = readFileSync(join(packageRoot(), '.env.example'), 'utf8');
    const given = { ASR_API_TOKEN: this.token, ASR_PORT: String(port), ...settings };
    const filledIn = Object.entries(given).reduce(
      (text, [name, value]) => text.replace(new RegExp(`^${name}=.*$`, 'm'), `${name}=${value}`),
      example,
    );
    writeFileSync(file, filledIn);
    this.command = [...command, '--env-file', file, '--project-name', this.#project];
  }

  /**
   * @param settings besides the token and the port, in its .env
   * @throws Error that says what is missing on this machine.
   */
  static async create(settings: Readonly<Record<string, string>> = {}): Promise<Compose> {
    await docker('info').catch((cause: Error) => {
      throw new Error(`these tests need a Docker engine: ${cause.message}`, { cause });
    });
    // As a plugin, or as the older program of its own.
    for (const command of [['docker', 'compose'], ['docker-compose']]) {
      const [file = '', ...args] = command;
      const found = await run(file, [...args, 'version']).catch(() => undefined);
      if (found) return new Compose(command, await freePort(), settings);
    }
    throw new Error('these tests need Docker Compose: docker compose, or docker-compose');
  }

  /** Starts it and waits until it can recognize. @param what the part of it, with its profile */
  async up(what?: { profile: string; service: string }): Promise<void> {
    const profile = what === undefined ? [] : ['--profile', what.profile];
    await this.compose(
      ...profile,
      'up',
      '--detach',
      '--no-build',
      ...(what === undefined ? [] : [what.service]),
    );
    const headers = { authorization: `Bearer ${this.token}` };
    const ready = async (): Promise<void> =>
      expect((await fetch(`${this.origin}/readyz`, { headers })).status).toBe(200);
    await vi.waitFor(ready, 60_000).catch(async (cause: unknown) => {
      throw new Error(`not ready after a minute:\n${await this.compose('logs', '--tail', '20')}`, { cause });
    });
  }

  async compose(...args: string[]): Promise<string> {
    const [file = '', ...first] = this.command;
    const options = { cwd: packageRoot(), maxBuffer: MAX_OUTPUT_BYTES };
    return (await run(file, [...first, ...args], options)).stdout.trim();
  }

  /** Ids of the containers of one service that run. */
  async containers(service: string): Promise<string[]> {
    // Older versions of Compose also list those that have ended.
    const ids = (await this.compose('ps', '-q', service)).split('\n').filter((id) => id !== '');
    const running = await Promise.all(
      ids.map((id) => docker('inspect', '--format', '{{.State.Running}}', id)),
    );
    return ids.filter((_, index) => running[index] === 'true');
  }

  async down(): Promise<void> {
    await this.compose(
      '--profile',
      'standby',
      '--profile',
      'services',
      'down',
      '--volumes',
      '--timeout',
      '5',
    );
    this.#folder.remove();
  }
}

export async function docker(...args: string[]): Promise<string> {
  return (await run('docker', args, { cwd: packageRoot(), maxBuffer: MAX_OUTPUT_BYTES })).stdout.trim();
}

/** Where this machine reaches a container without the load balancer. */
export async function addressOf(container: string): Promise<string> {
  return docker('inspect', '--format', '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}', container);
}

/** The container's exit code, once it has ended. */
export async function exitCodeOf(container: string): Promise<number> {
  return Number(await docker('wait', container));
}
