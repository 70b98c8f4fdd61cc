import type { Alternative, Judgement } from '../../postprocessing/judge.ts';
import { forcedRows } from '../../search/forced-decoding.ts';
import type { Likelihoods, TokenDecoder } from '../../search/token-decoder.ts';
import type { Simplify } from '../../text/chinese-text.ts';
import type { WhisperVocabulary } from './layout.ts';

/** Others in the place of a token: of the ten likeliest, those at most this much less likely, in nats. */
const MAX_ALTERNATIVES = 10;
const MAX_LESS_LIKELY = 3;
const BEGINS_CHINESE = /^[\u4e00-\u9fff]/;
const CHARACTERS = /./gsu;

/** Says how likely a recording is to say a text, and what else it may say in the place of a character. */
export class WhisperJudge<State> {
  readonly #parts: WhisperVocabulary & { readonly simplify: Simplify };
  readonly #decoder: TokenDecoder<State>;
  readonly #signal: AbortSignal;
  /** The language model and the hot words ask for the same texts. */
  readonly #known = new Map<string, Judgement>();
  readonly #utf8 = new TextDecoder();

  /** @param decoder of the whole recording. */
  constructor(
    decoder: TokenDecoder<State>,
    parts: WhisperVocabulary & { readonly simplify: Simplify },
    signal: AbortSignal,
  ) {
    this.#parts = parts;
    this.#decoder = decoder;
    this.#signal = signal;
  }

  /** One after the other: activations are quantised over all texts of a run, so each would change the others. */
  async judge(texts: readonly string[]): Promise<Judgement[]> {
    const judgements: Judgement[] = [];
    for (const text of texts) {
      const judgement = this.#known.get(text) ?? (await this.#judged(text));
      this.#known.set(text, judgement);
      judgements.push(judgement);
    }
    return judgements;
  }

  async #judged(text: string): Promise<Judgement> {
    const { tokens, rules } = this.#parts;
    const ids = tokens.encode(text);
    this.#signal.throwIfAborted();
    const rows = await forcedRows(this.#decoder, rules, ids);
    const nats = [...ids, rules.endId].reduce((sum, id, i) => sum + (rows[i]?.of(id) ?? 0), 0);
    const places = new Map<number, number>();
    let bytes = 0;
    for (const { 0: character, index } of text.matchAll(CHARACTERS)) {
      places.set(bytes, index);
      bytes += Buffer.byteLength(character);
    }
    const alternatives: Alternative[][] = text.split('').map(() => []);
    bytes = 0;
    for (const [i, id] of ids.entries()) {
      const place = places.get(bytes);
      bytes += tokens.bytes([id]).length;
      const row = rows[i];
      if (row !== undefined && place !== undefined && BEGINS_CHINESE.test(text[place] ?? ''))
        alternatives[place] = this.#alternatives(row, id);
    }
    return { nats, alternatives };
  }

  /** @param row of the place of a token */
  #alternatives(row: Likelihoods, own: number): Alternative[] {
    const { tokens, simplify } = this.#parts;
    const ownNats = row.of(own);
    const best = row
      .highest(MAX_ALTERNATIVES + 1)
      .map(({ id, nats }) => ({ id, nats: ownNats - nats }))
      .filter(({ id, nats }) => nats < MAX_LESS_LIKELY && id !== own)
      .slice(0, MAX_ALTERNATIVES);
    return best.flatMap(({ id, nats }) => {
      const [character] = simplify(this.#utf8.decode(tokens.bytes([id])));
      return character !== undefined && BEGINS_CHINESE.test(character) ? [{ character, nats }] : [];
    });
  }
}
