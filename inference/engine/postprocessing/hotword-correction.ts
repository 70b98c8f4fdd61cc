import { type Candidate, HotwordIndex, overlap } from './hotword-index.ts';
import type { Hotword } from './hotword-list.ts';
import type { Judge } from './judge.ts';

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
    const gains =
      judge === undefined ? nearest(spelled, candidates) : await judged(spelled, candidates, judge);
    const taken: Candidate[] = [];
    for (const { candidate } of gains.sort((a, b) => b.nats - a.nats))
      if (!taken.some((other) => overlap(candidate, other))) taken.push(candidate);
    // Each phrase is as long as what it replaces.
    return taken.reduce(replaced, spelled);
  }
}

/** Those of equal sound in the order of the characters that stay. */
function nearest(text: string, candidates: readonly Candidate[]): Gain[] {
  return candidates
    .filter(({ rank, hotword }) => rank === 0 && hotword.phrase.length >= MIN_UNJUDGED_CHARACTERS)
    .map((candidate) => {
      const { phrase } = candidate.hotword;
      return {
        candidate,
        nats: Array.from(phrase).filter((character, i) => character === text[candidate.start + i]).length,
      };
    });
}

async function judged(text: string, found: readonly Candidate[], judge: Judge): Promise<Gain[]> {
  const candidates = found.slice(0, MAX_JUDGED);
  if (candidates.length === 0) return [];
  const [old, ...others] = await judge([text, ...candidates.map((candidate) => replaced(text, candidate))]);
  const gains = candidates.map((candidate, i) => {
    const { phrase, score } = candidate.hotword;
    return {
      candidate,
      nats: (others[i]?.nats ?? Number.NEGATIVE_INFINITY) - (old?.nats ?? 0) + score * phrase.length,
    };
  });
  return gains.filter(({ nats }) => nats > 0);
}

function replaced(text: string, { start, end, hotword }: Candidate): string {
  return text.slice(0, start) + hotword.phrase + text.slice(end);
}
