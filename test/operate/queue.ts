import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../common/process/package-root.ts';
import { freePort } from '../../launch/supervisor/ports.ts';
import { eventually } from '../support/machine/eventually.ts';
import { TOKEN } from '../support/service/api.ts';
import { temporaryFolder } from '../support/tools/tool.ts';

/** HAProxy with deploy/haproxy/services.cfg, in front of services on this machine instead of Docker's names. */
export class Queue {
  readonly origin: string;
  /** host:port of its metrics */
  readonly target: string;
  readonly #folder = temporaryFolder();
  readonly #process: ChildProcess;

  private constructor(ports: readonly [number, number], servers: readonly string[]) {
    this.origin = `http://127.0.0.1:${ports[0]}`;
    this.target = `127.0.0.1:${ports[1]}`;
    const lines = servers.map((origin, index) => `    server asr${index + 1} ${new URL(origin).host}$1`);
    const config = readFileSync(join(packageRoot(), 'deploy', 'haproxy', 'services.cfg'), 'utf8')
      .replaceAll(/^ *server-template asr 20 "service:\$\{ASR_PORT\}"(.*)$/gm, lines.join('\n'))
      .replace(' resolvers docker init-addr none', '')
      .replace('bind :8405', `bind ${this.target}`)
      // biome-ignore lint/suspicious/noTemplateCurlyInString: HAProxy's own
      .replace('":${ASR_PORT}"', `127.0.0.1:${ports[0]}`);
    const file = join(this.#folder.path, 'haproxy.cfg');
    writeFileSync(file, config);
    const env = { PATH: process.env['PATH'], ASR_API_TOKEN: TOKEN, ASR_CLIENT_CONNECTIONS: '20' };
    this.#process = spawn('haproxy', ['-db', '-f', file], { env, stdio: ['ignore', 'ignore', 'inherit'] });
  }

  /** @param servers origins of API replicas, each of a service of its own */
  static async start(servers: readonly string[]): Promise<Queue> {
    const queue = new Queue([await freePort(), await freePort()], servers);
    await eventually(() => fetch(`http://${queue.target}/metrics`));
    return queue;
  }

  async stop(): Promise<void> {
    const exited = once(this.#process, 'exit');
    this.#process.kill();
    await exited;
    this.#folder.remove();
  }
}
