import { find } from '../view/elements.ts';
import { keep, kept } from './kept.ts';

/** Never sent by itself, never in an address. */
const KEPT_AS = 'asr-token';

/** The access token's field. It steps aside once the service has accepted a token. */
export class TokenField {
  readonly #form = find('form#token-form');
  readonly #input = find('input#token');
  readonly #remember = find('input#remember');
  readonly #change = find('button#token-change');
  readonly #entered: (token: string) => void;
  /** WebKit empties the field, without an event, when somebody comes back to the page. */
  #typed = '';

  /** @param entered called with each token that is to be used. */
  constructor(entered: (token: string) => void) {
    this.#entered = entered;
    const remembered = kept('localStorage', KEPT_AS);
    this.#remember.checked = remembered !== undefined;
    this.#input.value = remembered ?? kept('sessionStorage', KEPT_AS) ?? '';
    const read = (): void => {
      this.#typed = this.#input.value.trim();
    };
    read();
    this.#input.oninput = read;
    // At once: whoever takes it back does not want it kept until some token is used.
    this.#remember.onchange = () => this.#keep();
    this.#form.onsubmit = (event) => {
      event.preventDefault();
      this.#use();
    };
    this.#change.onclick = () => this.ask();
    const show = find('button#token-show');
    show.onclick = () => {
      const secret = this.#input.classList.toggle('secret');
      show.setAttribute('aria-pressed', String(!secret));
    };
  }

  /** The field's own value comes first: a password manager may fill it in without an `input` event. */
  get value(): string {
    return this.#input.value.trim() || this.#typed;
  }

  /** Takes a token that was typed and not confirmed: whoever goes on means it. */
  useTyped(): void {
    if (!this.#form.hidden && this.value !== '') this.#use();
  }

  #use(): void {
    this.#keep();
    this.#entered(this.value);
  }

  /** Shows the field and puts the cursor into it. */
  ask(): void {
    this.#form.hidden = false;
    this.#change.hidden = true;
    this.#input.value = this.value;
    const focus = (): void => {
      this.#input.focus();
      this.#input.select();
    };
    focus();
    // Again after the press that led here, which may give the focus to its own button.
    setTimeout(() => document.activeElement === this.#input || focus());
  }

  accepted(): void {
    // Who has just typed it goes on with the keyboard.
    if (this.#form.contains(document.activeElement)) find('button#record').focus();
    this.#form.hidden = true;
    this.#change.hidden = false;
  }

  #keep(): void {
    const { checked } = this.#remember;
    keep('localStorage', KEPT_AS, checked ? this.value : '');
    keep('sessionStorage', KEPT_AS, checked ? '' : this.value);
  }
}
