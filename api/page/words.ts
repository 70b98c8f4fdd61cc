import { textsFor } from './texts.ts';

/** What the page says to this person. A module of its own, since its value needs a browser. */
export const texts = await textsFor(navigator.languages);
