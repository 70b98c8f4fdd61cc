import { type LanguageModel, NO_WORD } from './language-model.ts';

/** Chinese; and what the model has no words for: a Latin word, a digit. */
const UNITS = /[\u3400-\u9fff]+|[A-Za-z]+|[0-9]/g;
const CHINESE = /^[\u3400-\u9fff]/;
const FOREIGN_NATS = 9;
/** Paths that are kept at each place, of those that end in different words. */
const MAX_PATHS = 8;

/** A word that can stand in a text from one place on. */
export interface Arc {
  readonly word: number;
  readonly written: string;
  /** Besides the word's own, in nats. */
  readonly cost: number;
}

export interface Path {
  readonly text: string;
  /** Nats. */
  readonly cost: number;
}

interface Step {
  readonly word: number;
  readonly cost: number;
  readonly start: number;
  readonly written: string;
  readonly previous: Step | undefined;
}

/**
 * The likeliest words in a text, each as long as what it stands for (Viterbi, "Error bounds for convolutional
 * codes", 1967; here over the last word).
 * @param arcsAt words that can stand at a place of a run of Chinese characters
 * @param weight of the language model against the arcs' own costs
 */
export function bestPath(
  model: LanguageModel,
  text: string,
  arcsAt: (run: string, at: number, offset: number) => readonly Arc[],
  weight: number,
): Path {
  let steps: Step[] = [{ word: NO_WORD, cost: 0, start: 0, written: '', previous: undefined }];
  for (const { 0: unit, index } of text.matchAll(UNITS)) {
    steps = CHINESE.test(unit) ? throughRun(unit, index) : [foreign(steps)];
  }
  const [best] = steps.sort(byCost);
  const characters = text.split('');
  for (let step = best; step !== undefined; step = step.previous)
    characters.splice(step.start, step.written.length, ...step.written.split(''));
  return { text: characters.join(''), cost: best?.cost ?? 0 };

  function throughRun(run: string, offset: number): Step[] {
    const ending: Map<number, Step>[] = Array.from({ length: run.length + 1 }, () => new Map());
    const firsts = steps;
    for (let at = 0; at < run.length; at++) {
      const previous = at === 0 ? firsts : [...(ending[at]?.values() ?? [])].sort(byCost).slice(0, MAX_PATHS);
      for (const { word, written, cost } of arcsAt(run, at, offset)) {
        const there = ending[at + written.length];
        for (const step of previous) {
          const total = step.cost + weight * model.cost(step.word, word) + cost;
          if (total < (there?.get(word)?.cost ?? Number.POSITIVE_INFINITY))
            there?.set(word, { word, cost: total, start: offset + at, written, previous: step });
        }
      }
    }
    return [...(ending[run.length]?.values() ?? [])].sort(byCost).slice(0, MAX_PATHS);
  }

  /** Nothing is known behind it. */
  function foreign(before: readonly Step[]): Step {
    const [first] = before.toSorted(byCost);
    const cost = (first?.cost ?? 0) + weight * FOREIGN_NATS;
    return { word: NO_WORD, cost, start: 0, written: '', previous: first };
  }
}

function byCost(a: Step, b: Step): number {
  return a.cost - b.cost;
}

/** How unlikely a text is, in nats: by the best way to cut it into words. */
export function textCost(model: LanguageModel, text: string): number {
  return bestPath(model, text, (run, at) => ownWords(model, run, at), 1).cost;
}

/** The words of the list that a run has at a place, and the character there. */
export function ownWords(model: LanguageModel, run: string, at: number): Arc[] {
  const found: Arc[] = [];
  for (let end = at + 1; end <= Math.min(run.length, at + model.longestWord); end++) {
    const written = run.slice(at, end);
    const word = model.wordOf(written) ?? (end === at + 1 ? model.unknownWord : undefined);
    if (word !== undefined) found.push({ word, written, cost: 0 });
  }
  return found;
}
