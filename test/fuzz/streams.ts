import assert from 'node:assert/strict';
import { AUTHORIZED, TOKEN } from '../support/service/api.ts';
import { scriptedPcm, scriptedText } from '../support/service/scripted-recognizer.ts';
import { servedFuzz } from './fuzz.ts';
import type { FuzzStreamClient } from './fuzz-stream-client.ts';
import { type Ending, StreamModel } from './stream-model.ts';
import { type Step, type StreamCase, streamCase, VIOLATIONS } from './stream-steps.ts';

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
    const headers = given.token === 'in the header' ? AUTHORIZED : {};
    const player = new Player(given, await service.openStream(headers));
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
  readonly #client: FuzzStreamClient;
  readonly #pings: string[] = [];
  #left = false;
  #noiseBytes = 0;

  constructor(given: StreamCase, client: FuzzStreamClient) {
    this.#case = given;
    this.#client = client;
    this.model = new StreamModel(given);
  }

  async play(step: Step): Promise<void> {
    if (this.#left) return;
    if (this.#case.inOnePiece) this.#client.hold();
    this.model.step(step);
    switch (step.do) {
      case 'start': {
        const token = { 'in start': TOKEN, 'wrong in start': `${TOKEN}x` }[this.#case.token as string];
        const fields = { type: 'start', sample_rate: 16_000, channels: 1, encoding: 'pcm_s16le' };
        return this.#client.send(json({ ...fields, api_token: token }), false);
      }
      case 'text':
        // Halves of pairs are no text; the encoder replaces them.
        return this.#client.send(Buffer.from(step.text), false, step.cuts);
      case 'audio':
        return this.#audio(step.bytes, step.cuts);
      case 'real time':
        return await this.#realTime(step.halfSeconds);
      case 'end':
        return this.#client.send(json({ type: 'end' }), false);
      case 'await ready':
        return await this.#awaitReady();
      case 'ping':
        this.#pings.push(step.payload);
        return this.#client.socket.ping(Buffer.from(step.payload, 'latin1'));
      case 'pong':
        return this.#client.socket.pong('unasked');
      case 'violate':
        return this.#client.send(VIOLATIONS[step.how].payload, VIOLATIONS[step.how].binary);
      case 'close':
        this.#left = true;
        return this.#client.socket.close(step.code);
      case 'cut':
        this.#left = true;
        this.flush();
        return this.#client.destroy();
    }
  }

  flush(): void {
    this.#client.flush();
  }

  /** Waits for the end and compares it with the model. */
  async finish(): Promise<void> {
    if (!this.model.over && !this.model.finishing) await this.play({ do: 'close', code: 1000 });
    this.flush();
    const ending = this.#ending(await this.#client.closed());
    const possible = [...this.model.endings];
    assert.ok(possible.includes(ending), `ended with "${ending}"; possible: ${possible.join(', ')}`);
    this.#assertMessages(ending);
  }

  #audio(bytes: number, cuts: readonly number[]): void {
    const pcm = NOISE.subarray(this.#noiseBytes, this.#noiseBytes + bytes);
    this.#noiseBytes += bytes;
    this.#client.send(pcm, true, cuts);
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

  #ending(closeCode: number): Ending {
    const { last } = this.#client;
    if (this.#left && (closeCode === 1006 || this.#leftWith(closeCode))) return 'left';
    assert.notEqual(closeCode, 1006, `no close frame; last message ${JSON.stringify(last)}`);
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
    return last?.type !== 'final' && last?.type !== 'error' && closeCode !== 1007 && closeCode !== 1009;
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
    assert.deepEqual(pongs, this.#pings);
  }
}

function json(value: object): Buffer {
  return Buffer.from(JSON.stringify(value));
}
