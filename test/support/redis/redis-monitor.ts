import { EventEmitter, once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';

/**
 * Emits `command` for each command that a Redis server carries out, with its name in lower case and its
 * arguments as MONITOR escapes them; ready when the promise is kept. (ioredis' own monitor ends in an error
 * when the first of them comes together with the answer to MONITOR.)
 */
export class RedisMonitor extends EventEmitter<{ command: [command: [name: string, ...args: string[]]] }> {
  readonly close: () => void;

  private constructor(lines: NodeJS.EventEmitter, close: () => void) {
    super();
    this.close = close;
    lines.on('line', (line: string) => {
      // +1700000000.123456 [0 127.0.0.1:4711] "xadd" "a \"key\"" …
      const [name, ...args] = [...line.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, text = '']) => text);
      if (name !== undefined) this.emit('command', [name.toLowerCase(), ...args]);
    });
  }

  /** @throws Error where the server refuses MONITOR */
  static async start({ port }: { readonly port: number }): Promise<RedisMonitor> {
    const socket = connect(port, '127.0.0.1');
    const lines = createInterface({ input: socket });
    const monitor = new RedisMonitor(lines, () => socket.destroy());
    socket.write('MONITOR\r\n');
    const [answer]: string[] = await once(lines, 'line');
    if (answer !== '+OK') throw new Error(`MONITOR was answered with ${answer}`);
    return monitor;
  }
}
