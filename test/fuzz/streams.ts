import assert from 'node:assert/strict';
import { TOKEN } from '../support/api.ts';
import { scriptedPcm, scriptedText } from '../support/scripted-recognizer.ts';
import { servedFuzz } from './fuzz.ts';
import { RawStreamClient } from './raw-stream-client.ts';
import { type Ending, StreamModel } from './stream-model.ts';
import { type Step, type StreamCase, streamCase, VIOLATIONS } from './stream-steps.ts';
import { encodeFrame, encodeMessage, OPCODE } from './ws-frames.ts';

const NOISE = scriptedPcm(20, 5);
const HALF_SECOND_BYTES = 16_000;
const FRAME_BYTES = 3_200;

/** The interface's close codes. */
const CLOSE_CODE: Readonly<Record<string, number>> = {
  busy: 1008,
  invalid_message: 1008,
  invalid_sequence: 1008,
  invalid_frame: 1008,
  overloaded: 1008,
  unauthorized: 1008,
  audio_too_long: 1008,
  inference_failed: 1011,
};

export const streams = servedFuzz(
  'streams: what a client may do, in any order',
  250,
  streamCase,
  async (given, service) => {
    if (given.trouble === 'busy') await service.occupySlot();
    if (given.trouble === 'model fails') service.failModel();
    const gate = given.trouble === 'model hangs' ? service.holdModel() : undefined;
    const header = given.token === 'in the header' ? `Bearer ${TOKEN}` : undefined;
    const player = new Player(given, await RawStreamClient.open(await service.connect(), header));
    for (const step of given.steps) await player.play(step);
    player.flush();
    // What must end while the model hangs ends before it goes on.
    if (!player.model.over) gate?.release();
    await player.finish();
  },
);

class Player {
  readonly model: StreamModel;
  readonly #case: StreamCase;
  readonly #client: RawStreamClient;
  readonly #pings: string[] = [];
  #unsent: Buffer[] = [];
  #left = false;
  #noiseBytes = 0;

  constructor(given: StreamCase, client: RawStreamClient) {
    this.#case = given;
    this.#client = client;
    this.model = new StreamModel(given);
  }

  async play(step: Step): Promise<void> {
    if (this.#left) return;
    this.model.step(step);
    switch (step.do) {
      case 'start': {
        const token = { 'in start': TOKEN, 'wrong in start': `${TOKEN}x` }[this.#case.token as string];
        const fields = { type: 'start', sample_rate: 16_000, channels: 1, encoding: 'pcm_s16le' };
        return this.#send(encodeMessage(OPCODE.text, json({ ...fields, api_token: token }), []));
      }
      case 'text':
        // Halves of pairs are no text; the encoder replaces them.
        return this.#send(encodeMessage(OPCODE.text, Buffer.from(step.text), step.cuts));
      case 'audio':
        return this.#send(this.#audio(step.bytes, step.cuts));
      case 'real time':
        return await this.#realTime(step.halfSeconds);
      case 'end':
        return this.#send(encodeMessage(OPCODE.text, json({ type: 'end' }), []));
      case 'await ready':
        return await this.#awaitReady();
      case 'ping':
        this.#pings.push(step.payload);
        return this.#send(encodeFrame({ opcode: OPCODE.ping, payload: Buffer.from(step.payload, 'latin1') }));
      case 'pong':
        return this.#send(encodeFrame({ opcode: OPCODE.pong, payload: Buffer.from('unasked') }));
      case 'violate':
        return this.#send(encodeFrame(VIOLATIONS[step.how].frame));
      case 'close':
        this.#left = true;
        return this.#send(
          encodeFrame({ opcode: OPCODE.close, payload: Buffer.from([step.code >> 8, step.code & 255]) }),
        );
      case 'cut':
        this.#left = true;
        this.flush();
        return this.#client.connection.destroy();
    }
  }

  flush(): void {
    if (this.#unsent.length > 0) this.#client.connection.write(Buffer.concat(this.#unsent));
    this.#unsent = [];
  }

  /** Waits for the end and compares it with the model. */
  async finish(): Promise<void> {
    if (!this.model.over && !this.model.finishing) await this.play({ do: 'close', code: 1000 });
    this.flush();
    await this.#client.untilClosed();
    const ending = this.#ending();
    const possible = [...this.model.endings];
    assert.ok(possible.includes(ending), `ended with "${ending}"; possible: ${possible.join(', ')}`);
    this.#assertMessages(ending);
  }

  #send(bytes: Buffer): void {
    this.#unsent.push(bytes);
    if (!this.#case.inOnePiece) this.flush();
  }

  #audio(bytes: number, cuts: readonly number[]): Buffer {
    const pcm = NOISE.subarray(this.#noiseBytes, this.#noiseBytes + bytes);
    this.#noiseBytes += bytes;
    return encodeMessage(OPCODE.binary, pcm, cuts);
  }

  async #awaitReady(): Promise<void> {
    this.flush();
    if (!this.model.opening) return;
    await this.#client.until(() => this.#client.of('ready').length > 0);
    if (this.#client.of('ready').length > 0) assert.ok(this.model.sawReady(), '"ready" out of order');
  }

  async #realTime(halfSeconds: number): Promise<void> {
    for (let sent = 0; sent < halfSeconds && this.model.open && this.#case.trouble === 'none'; sent += 1) {
      for (let frame = 0; frame < HALF_SECOND_BYTES / FRAME_BYTES; frame += 1)
        await this.play({ do: 'audio', bytes: FRAME_BYTES, cuts: [] });
      this.flush();
      const chunks = Math.floor(this.model.bytes / HALF_SECOND_BYTES);
      await this.#client.until(() => this.#client.of('partial').length === chunks);
      this.model.sawTaken(chunks * HALF_SECOND_BYTES);
    }
  }

  #ending(): Ending {
    const { last, closeCode } = this.#client;
    if (this.#left && (closeCode === undefined || this.#leftWith(closeCode))) return 'left';
    assert.ok(
      closeCode !== undefined,
      `the connection ended without a close frame; last message ${JSON.stringify(last)}`,
    );
    if (last?.type === 'final') {
      assert.equal(closeCode, 1000);
      return 'final';
    }
    if (last?.type !== 'error') return `close ${closeCode}`;
    const { code, message, ...other } = last;
    assert.ok(
      typeof code === 'string' && typeof message === 'string' && message !== '',
      JSON.stringify(last),
    );
    assert.deepEqual(other, { type: 'error' });
    assert.equal(closeCode, CLOSE_CODE[code], code);
    return `error ${code}`;
  }

  /** The server answers a close frame with its code, unless it has ended the stream itself before. */
  #leftWith(closeCode: number): boolean {
    const { last } = this.#client;
    return last?.type !== 'final' && last?.type !== 'error' && ![1007, 1009].includes(closeCode);
  }

  #assertMessages(ending: Ending): void {
    const { messages, pongs } = this.#client;
    const [first, ...others] = messages;
    const ready = others.length > 0 || first?.type === 'ready' ? first : undefined;
    if (ready) {
      assert.deepEqual(Object.keys(ready).sort(), ['chunk_ms', 'session_id', 'type']);
      assert.match(String(ready['session_id']), /^[0-9a-f]{32}$/);
    }
    const revisions = messages.flatMap(({ revision }) => (revision === undefined ? [] : [Number(revision)]));
    assert.ok(
      revisions.every((revision, index) => revision > (revisions[index - 1] ?? 0)),
      `revisions ${revisions.join(' ')}`,
    );
    if (ending !== 'final') return;
    const pcm = NOISE.subarray(0, this.model.bytes);
    const { finalize_ms: finalizeMs, revision, ...final } = messages.at(-1) ?? { type: 'none' };
    assert.ok(typeof finalizeMs === 'number' && finalizeMs >= 0 && typeof revision === 'number');
    assert.deepEqual(final, {
      type: 'final',
      text: scriptedText(pcm),
      audio_ms: Math.round(pcm.length / 32),
    });
    assert.deepEqual(
      pongs.map((pong) => pong.toString('latin1')),
      this.#pings,
    );
  }
}

function json(value: object): Buffer {
  return Buffer.from(JSON.stringify(value));
}
