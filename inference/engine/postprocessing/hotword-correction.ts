import { type Candidate, HotwordIndex, withoutOverlap } from './hotword-index.ts';
import type { Hotword } from './hotword-list.ts';
import { type Judge, replaced } from './judge.ts';

/** Each costs a pass of the decoder. With 5,000 phrases, 82 texts had at most 9. */
const MAX_JUDGED = 16;
/** Without a judge, shorter phrases replace too much: 64 words that were not said in 82 recordings, with 5,000 phrases. */
const MIN_UNJUDGED_CHARACTERS = 3;

interface Gain {
  readonly candidate: Candidate;
  readonly nats: number;
}

/** Puts listed phrases in the place of what sounds like them. */
export class HotwordCorrector {
  readonly #index: HotwordIndex;

  constructor(hotwords: readonly Hotword[]) {
    this.#index = new HotwordIndex(hotwords);
  }

  /**
   * A judge decides by `log p(new text) − log p(old text) + score × characters`. Without one, only phrases of
   * three and more characters whose syllables are all near are taken.
   * @param judge undefined if the model cannot say how likely a text is. @throws as the judge
   */
  async corrected(text: string, judge: Judge | undefined): Promise<string> {
    const spelled = this.#index.spelled(text);
    const candidates = this.#index.candidates(spelled);
    const gains = judge === undefined ? nearest(candidates) : await judged(spelled, candidates, judge);
    const best = gains.sort((a, b) => b.nats - a.nats).map(({ candidate }) => candidate);
    return replaced(spelled, withoutOverlap(best));
  }
}

/** Those of equal sound in the order of the characters that stay. */
function nearest(candidates: readonly Candidate[]): Gain[] {
  return candidates
    .filter(({ rank, characters }) => rank === 0 && characters >= MIN_UNJUDGED_CHARACTERS)
    .map((candidate) => ({ candidate, nats: candidate.kept }));
}

async function judged(text: string, found: readonly Candidate[], judge: Judge): Promise<Gain[]> {
  const candidates = found.slice(0, MAX_JUDGED);
  if (candidates.length === 0) return [];
  const texts = candidates.map((candidate) => replaced(text, [candidate]));
  const [old, ...others] = await judge([text, ...texts]);
  const gains = candidates.map((candidate, i) => {
    const gain = (others[i]?.nats ?? Number.NEGATIVE_INFINITY) - (old?.nats ?? 0);
    return { candidate, nats: gain + candidate.score * candidate.characters };
  });
  return gains.filter(({ nats }) => nats > 0);
}
