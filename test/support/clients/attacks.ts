import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { TOKEN } from '../service/api.ts';

/** What hostile clients do, many at once. None of it takes the slot. */
export interface Attack {
  readonly name: string;
  readonly connections: number;
  /** What each connection sends first. */
  readonly first: Buffer;
  /** What it sends from then on, as fast as it is taken. */
  readonly again?: Buffer;
  /** It resets its connection behind `first`, and begins anew. */
  readonly resets?: true;
}

const head = (path: string, ...lines: string[]): Buffer =>
  Buffer.from([`${path} HTTP/1.1`, 'Host: x', ...lines, '', ''].join('\r\n'));
const bearer = `Authorization: Bearer ${TOKEN}`;
const handshake = (...lines: string[]): Buffer =>
  head(
    'GET /ws/asr',
    ...['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13'],
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    ...lines,
  );
const upload = (...lines: string[]): Buffer =>
  head(
    'POST /v1/audio/transcriptions',
    ...['Content-Type: multipart/form-data; boundary=x', 'Content-Length: 545536', ...lines],
  );

/** A masked frame (RFC 6455, section 5.2), its mask being zero. @param first FIN and opcode */
function frame(first: number, payload: Buffer, declaredBytes = payload.length): Buffer {
  const long = Buffer.alloc(14);
  long[0] = first;
  long[1] = 0xff;
  long.writeUInt32BE(declaredBytes, 6);
  return Buffer.concat([long, payload]);
}
const text = (message: object): Buffer => frame(0x81, Buffer.from(JSON.stringify(message)));
const START = { type: 'start', sample_rate: 16_000, channels: 1, encoding: 'pcm_s16le' };
const MIB = 1024 * 1024;
/** Of 1 MiB; its last byte never comes. */
const UNFINISHED = frame(0x82, Buffer.alloc(MIB - 1), MIB);
const BYTE = frame(0x00, Buffer.alloc(1));
const FRAGMENTS = Buffer.concat([frame(0x02, Buffer.alloc(1)), ...new Array<Buffer>(14_000).fill(BYTE)]);
const BODY = Buffer.alloc(540_000);
const PONGS = Buffer.concat(new Array<Buffer>(10_000).fill(Buffer.from([0x8a, 0x80, 0, 0, 0, 0])));

export const ATTACKS: readonly Attack[] = [
  {
    name: 'request heads without an end',
    connections: 1_000,
    first: head('GET /', `a: ${'b'.repeat(15_000)}`).subarray(0, -4),
  },
  { name: 'unfinished messages', connections: 1_000, first: Buffer.concat([handshake(), UNFINISHED]) },
  {
    name: 'messages in fragments of a byte',
    connections: 1_000,
    first: Buffer.concat([handshake(), FRAGMENTS]),
  },
  {
    name: 'unfinished messages behind a refusal',
    connections: 1_000,
    first: Buffer.concat([handshake(), text({ type: 'end' }), UNFINISHED]),
  },
  {
    name: 'unfinished messages behind a start, with the token',
    connections: 1_000,
    first: Buffer.concat([handshake(bearer), text(START), UNFINISHED]),
  },
  { name: 'unfinished bodies', connections: 1_000, first: Buffer.concat([upload(), BODY]) },
  {
    name: 'unfinished bodies, with the token',
    connections: 1_000,
    first: Buffer.concat([upload(bearer), BODY]),
  },
  {
    name: 'blanks in Accept-Language',
    connections: 30,
    first: Buffer.alloc(0),
    again: head('GET /api-reference', `Accept-Language: a${' '.repeat(15_000)}b`),
  },
  { name: 'pongs', connections: 40, first: handshake(), again: PONGS },
  { name: 'handshakes and resets', connections: 20, first: handshake(), resets: true },
  { name: 'subprotocols', connections: 20, first: handshake('Sec-WebSocket-Protocol: a,a'), resets: true },
];

/** Attacks a replica until it is stopped. @param connections fewer or more than it has by itself */
export class AttackUnderWay {
  readonly #sockets = new Set<Socket>();
  readonly #attack: Attack;
  readonly #port: number;
  #isOver = false;

  constructor(origin: string, attack: Attack, connections: number = attack.connections) {
    this.#attack = attack;
    this.#port = Number(new URL(origin).port);
    for (let n = 0; n < connections; n += 1) this.#connect();
  }

  /** Hangs up everywhere. */
  stop(): void {
    this.#isOver = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Resolves when the replica has ended each connection. */
  async ended(): Promise<void> {
    await Promise.all([...this.#sockets].map((socket) => socket.closed || once(socket, 'close')));
  }

  #connect(): void {
    const { first, again, resets } = this.#attack;
    const socket = connect(this.#port, '127.0.0.1');
    this.#sockets.add(socket);
    socket.on('error', () => undefined).resume();
    socket.once('close', () => {
      this.#sockets.delete(socket);
      if (resets && !this.#isOver) this.#connect();
    });
    socket.write(first, () => {
      if (resets) setImmediate(() => socket.resetAndDestroy());
      else if (again) this.#goOn(socket, again);
    });
  }

  #goOn(socket: Socket, again: Buffer): void {
    if (!this.#isOver && socket.writable)
      socket.write(again, () => setImmediate(() => this.#goOn(socket, again)));
  }
}

/** What a process holds, by Linux's `/proc`. */
export function holding(pid: number): { readonly megabytes: number; readonly descriptors: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return {
    megabytes: Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1_024,
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
  };
}
