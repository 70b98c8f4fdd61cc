import type { Language } from '../../texts/language.ts';
import type { Measure } from '../../texts/texts.ts';
import { make, worded } from '../elements.ts';

/** In the order in which they are shown. */
const FIELDS: readonly Measure[] = ['audio_ms', 'finalize_ms', 'inference_ms'];

/** A result's figures. The title of each has the field's name in the interface, and its value to the millisecond. */
export function measures(
  language: Language,
  result: Readonly<Partial<Record<Measure, number>>>,
): HTMLDListElement {
  const pairs = FIELDS.flatMap((field) => {
    const ms = result[field];
    if (ms === undefined) return [];
    const name = worded('dt', {}, language, (texts) => texts.measures[field]);
    const value = worded('dd', {}, language, (texts) => texts.seconds(ms));
    return make('div', { title: `${field} ${Math.round(ms)}` }, name, value);
  });
  return make('dl', { class: 'measures' }, ...pairs);
}
