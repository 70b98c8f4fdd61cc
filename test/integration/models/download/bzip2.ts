/**
 * A small bzip2 compressor, so that the tests can make archives on machines without the program. Not for
 * large or very repetitive input.
 */

const BLOCK_BYTES = 60_000;

export function bzip2(input: Uint8Array): Buffer {
  const bits = new BitWriter();
  bits.write(0x425a68, 24); // BZh
  bits.write(0x31, 8); // blocks of up to 100,000 bytes
  let combined = 0;
  for (let start = 0; start < input.length; start += BLOCK_BYTES) {
    const block = input.subarray(start, start + BLOCK_BYTES);
    const crc = blockCrc(block);
    combined = (((combined << 1) | (combined >>> 31)) ^ crc) >>> 0;
    writeBlock(bits, runLengths(block), crc);
  }
  bits.write(0x177245, 24);
  bits.write(0x385090, 24);
  bits.write(combined >>> 16, 16);
  bits.write(combined & 0xffff, 16);
  return bits.finish();
}

function writeBlock(bits: BitWriter, data: Uint8Array, crc: number): void {
  const { last, origin } = burrowsWheeler(data);
  bits.write(0x314159, 24);
  bits.write(0x265359, 24);
  bits.write(crc >>> 16, 16);
  bits.write(crc & 0xffff, 16);
  bits.write(0, 1);
  bits.write(origin, 24);

  const used = [...new Set(last)].sort((a, b) => a - b);
  const usedSet = new Set(used);
  const rows = Array.from({ length: 16 }, (_, row) =>
    Array.from({ length: 16 }, (__, column) => usedSet.has(row * 16 + column)),
  );
  for (const row of rows) bits.write(row.some(Boolean) ? 1 : 0, 1);
  for (const row of rows) if (row.some(Boolean)) for (const cell of row) bits.write(cell ? 1 : 0, 1);

  const symbols = moveToFront(last, used);
  const alphabet = used.length + 2;
  const selectors = Math.ceil(symbols.length / 50);
  bits.write(2, 3); // two equal tables: the format wants two
  bits.write(selectors, 15);
  for (let i = 0; i < selectors; i++) bits.write(0, 1);
  const codeBits = Math.max(1, Math.ceil(Math.log2(alphabet)));
  for (let table = 0; table < 2; table++) {
    bits.write(codeBits, 5);
    for (let i = 0; i < alphabet; i++) bits.write(0, 1); // every code as long as the first
  }
  for (const symbol of symbols) bits.write(symbol, codeBits);
}

/** Four equal bytes are followed by how many more there are. */
function runLengths(data: Uint8Array): Uint8Array {
  const out: number[] = [];
  for (let i = 0; i < data.length; ) {
    const byte = data[i] ?? 0;
    let run = 1;
    while (run < 255 && i + run < data.length && data[i + run] === byte) run++;
    for (let k = 0; k < Math.min(run, 4); k++) out.push(byte);
    if (run >= 4) out.push(run - 4);
    i += run;
  }
  return Uint8Array.from(out);
}

function burrowsWheeler(data: Uint8Array): { last: Uint8Array; origin: number } {
  const n = data.length;
  const at = (index: number): number => data[index < n ? index : index - n] ?? 0;
  const order = Array.from({ length: n }, (_, i) => i).sort((a, b) => {
    for (let k = 0; k < n; k++) {
      const difference = at(a + k) - at(b + k);
      if (difference !== 0) return difference;
    }
    return 0;
  });
  return { last: Uint8Array.from(order, (start) => at(start + n - 1)), origin: order.indexOf(0) };
}

function moveToFront(data: Uint8Array, used: readonly number[]): number[] {
  const list = [...used];
  const out: number[] = [];
  let zeros = 0;
  const flush = (): void => {
    // Bijective base 2: RUNA is 1, RUNB is 2.
    for (let rest = zeros; rest > 0; rest = (rest - (rest % 2 === 1 ? 1 : 2)) / 2)
      out.push(rest % 2 === 1 ? 0 : 1);
    zeros = 0;
  };
  for (const byte of data) {
    const place = list.indexOf(byte);
    if (place === 0) {
      zeros++;
      continue;
    }
    flush();
    list.splice(place, 1);
    list.unshift(byte);
    out.push(place + 1);
  }
  flush();
  out.push(used.length + 1);
  return out;
}

function blockCrc(data: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of data) {
    crc ^= byte << 24;
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x80000000 ? (crc << 1) ^ 0x04c11db7 : crc << 1;
  }
  return ~crc >>> 0;
}

class BitWriter {
  readonly #bytes: number[] = [];
  #partial = 0;
  #filled = 0;

  write(value: number, count: number): void {
    for (let bit = count - 1; bit >= 0; bit--) {
      this.#partial = (this.#partial << 1) | ((value >>> bit) & 1);
      if (++this.#filled === 8) {
        this.#bytes.push(this.#partial);
        this.#partial = 0;
        this.#filled = 0;
      }
    }
  }

  finish(): Buffer {
    while (this.#filled !== 0) this.write(0, 1);
    return Buffer.from(this.#bytes);
  }
}
