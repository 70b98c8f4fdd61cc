import assert from 'node:assert/strict';

export const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** A WebSocket frame (RFC 6455, 5.2) as a client sends it. */
export interface ClientFrame {
  readonly opcode: number;
  readonly payload?: Uint8Array;
  /** Last fragment of its message. */
  readonly fin?: boolean;
  /** The length that the header says. */
  readonly declaredBytes?: number;
}

const MASK = Buffer.from([0x5a, 0xa5, 0x00, 0xff]);

export function encodeFrame(frame: ClientFrame): Buffer {
  const { opcode, payload = Buffer.alloc(0), fin = true } = frame;
  const length = frame.declaredBytes ?? payload.length;
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  head[0] = (fin ? 0x80 : 0) | opcode;
  head[1] = 0x80 | (length < 126 ? length : length < 65_536 ? 126 : 127);
  if (head.length === 4) head.writeUInt16BE(length, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([head, MASK, payload.map((byte, index) => byte ^ (MASK[index % 4] ?? 0))]);
}

/** A message in one frame or, cut at these places, in several. */
export function encodeMessage(opcode: number, payload: Buffer, cuts: readonly number[]): Buffer {
  const places = [...new Set(cuts.map((cut) => cut % (payload.length + 1)))].sort((a, b) => a - b);
  const ends = [...places, payload.length];
  const frames = ends.map((end, index) =>
    encodeFrame({
      opcode: index === 0 ? opcode : OPCODE.continuation,
      payload: payload.subarray(ends[index - 1] ?? 0, end),
      fin: index === ends.length - 1,
    }),
  );
  return Buffer.concat(frames);
}

interface ServerFrame {
  readonly opcode: number;
  readonly payload: Buffer;
}

/** Takes the first frame out of what a server sent. @returns undefined while it is not there in full. @throws AssertionError for one that no server may send */
export function decodeFrame(bytes: Buffer): { frame: ServerFrame; bytes: number } | undefined {
  const [first, second] = bytes;
  if (first === undefined || second === undefined) return undefined;
  assert.equal(first & 0xf0, 0x80, 'the server neither fragments nor uses reserved bits');
  assert.equal(second & 0x80, 0, 'the server does not mask');
  const short = second & 0x7f;
  assert.ok(short < 127, 'the server sends no long message');
  if (short === 126 && bytes.length < 4) return undefined;
  const start = short === 126 ? 4 : 2;
  const length = short === 126 ? bytes.readUInt16BE(2) : short;
  if (bytes.length < start + length) return undefined;
  const payload = Buffer.from(bytes.subarray(start, start + length));
  return { frame: { opcode: first & 0x0f, payload }, bytes: start + length };
}
