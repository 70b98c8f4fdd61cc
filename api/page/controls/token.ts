import { find } from '../view/elements.ts';

/** The tab's own storage: gone with the tab, never sent by itself, never in an address. */
const STORED_AS = 'asr-token';

/** The access token's field. It steps aside once the service has accepted a token. */
export class TokenField {
  readonly #form = find('form#token-form');
  readonly #input = find('input#token');
  readonly #change = find('button#token-change');
  /** WebKit empties the field, without an event, when somebody comes back to the page. */
  #typed = '';

  /** @param entered called with each token that was typed in. */
  constructor(entered: (token: string) => void) {
    try {
      this.#input.value = sessionStorage.getItem(STORED_AS) ?? '';
    } catch {
      // A browser that keeps nothing for pages (site data blocked) refuses even to look.
    }
    const read = (): void => {
      this.#typed = this.#input.value.trim();
    };
    read();
    this.#input.oninput = read;
    this.#form.onsubmit = (event) => {
      event.preventDefault();
      try {
        sessionStorage.setItem(STORED_AS, this.value);
      } catch {
        // There the token lasts until the page is loaded again.
      }
      entered(this.value);
    };
    this.#change.onclick = () => this.ask();
    const show = find('button#token-show');
    show.onclick = () => {
      const secret = this.#input.classList.toggle('secret');
      show.setAttribute('aria-pressed', String(!secret));
    };
  }

  /** First the field's own, which a password manager may fill in without an `input` event. */
  get value(): string {
    return this.#input.value.trim() || this.#typed;
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
}
