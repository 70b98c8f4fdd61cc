import { setTimeout as delay } from 'node:timers/promises';
import { beginStream, beginUpload, type Client, type Clip } from '../chaos/clients.ts';
import { wrongWith } from '../chaos/promises.ts';
import type { Replica } from '../chaos/service.ts';
import type { Tally } from '../chaos/tally.ts';
import { filePart, form, postBody } from '../support/clients/form.ts';
import { StreamClient } from '../support/clients/stream-client.ts';
import { AUTHORIZED, upload } from '../support/service/api.ts';

/** A client that is refused before it needs the slot. @returns status or code */
type Refused = (origin: string, clip: Clip) => Promise<number | string>;

const REFUSALS: Readonly<Record<string, Refused>> = {
  '401': async (origin, { wav }) => (await upload(origin, wav, { authorization: 'Bearer wrong' })).status,
  '400': async (origin) => (await upload(origin, Buffer.from('no WAV file'))).status,
  '413': async (origin) => (await upload(origin, Buffer.alloc(500_000))).status,
  '422': async (origin, { wav }) => {
    const { body, type } = form([filePart(wav, 'other')]);
    return (await postBody(origin, body, type)).status;
  },
  invalid_message: async (origin) => {
    const client = await StreamClient.connect(`${origin.replace('http', 'ws')}/ws/asr`, AUTHORIZED);
    client.json({ type: 'nothing known' });
    await client.closed();
    return String(client.received.at(-1)?.['code']);
  },
};

/** Clients that ask again as soon as they were answered. */
export class SoakLoad {
  /** Answers that should not have been, for a person. */
  readonly faults: string[] = [];
  readonly #replicas: readonly Replica[];
  readonly #clip: Clip;
  readonly #text: string;
  readonly #tally: Tally;
  #turn = 0;
  #isOver = false;

  /** @param text what an undisturbed run hears in the clip */
  constructor(replicas: readonly Replica[], clip: Clip, text: string, tally: Tally) {
    this.#replicas = replicas;
    this.#clip = clip;
    this.#text = text;
    this.#tally = tally;
  }

  /** Resolves when every client has had its last answer, soon after `end`. @throws Error when one was not served at all */
  async run(): Promise<void> {
    await Promise.all([
      this.#again(async (replica) => this.#ask('upload', beginUpload(replica.origin, this.#clip), replica)),
      this.#again(async (replica) =>
        this.#ask('stream', beginStream(replica.origin, this.#clip, 'in a burst'), replica),
      ),
      this.#again((replica) => this.#refused(replica)),
      this.#again((replica) => this.#leaving(replica)),
    ]);
  }

  end(): void {
    this.#isOver = true;
  }

  async #again(once: (replica: Replica) => Promise<void>): Promise<void> {
    while (!this.#isOver) {
      this.#turn += 1;
      const replica = this.#replicas[this.#turn % this.#replicas.length];
      if (replica !== undefined) await once(replica);
    }
  }

  async #ask(kind: 'upload' | 'stream', client: Client, { kept }: Replica): Promise<void> {
    const outcome = await client.outcome;
    this.#tally.count(`${kind}: ${outcome.kind === 'error' ? outcome.code : outcome.kind}`);
    const pace = kind === 'upload' ? undefined : ('in a burst' as const);
    const request = { clip: this.#clip, pace, api: kept.name, isAlone: false };
    const wrong = wrongWith(request, outcome, new Set(), this.#text);
    if (wrong !== undefined) this.faults.push(`${kind} at ${kept.name}: ${wrong}`);
  }

  async #refused({ origin }: Replica): Promise<void> {
    for (const [expected, ask] of Object.entries(REFUSALS)) {
      const answer = String(await ask(origin, this.#clip));
      this.#tally.count(`refused: ${answer}`);
      if (answer !== expected) this.faults.push(`the answer was ${answer} instead of ${expected}`);
    }
  }

  /** Before, while or after it is recognized. */
  async #leaving(replica: Replica): Promise<void> {
    for (const begin of [beginUpload, beginStream]) {
      const client = begin(replica.origin, this.#clip, 'in real time');
      await Promise.race([client.outcome, delay(this.#turn % 60)]);
      client.leave();
      await this.#ask(begin === beginUpload ? 'upload' : 'stream', client, replica);
    }
  }
}
