import type { Language } from '../texts/language.ts';
import { find, make } from '../view/elements.ts';

/** Which microphone records, if there are several. A browser names them only to a page that may use one. */
export class MicrophoneChoice {
  readonly #select = find('select#microphone');
  readonly #language: Language;

  constructor(language: Language) {
    this.#language = language;
    // Pages without HTTPS have no devices.
    navigator.mediaDevices?.addEventListener('devicechange', () => this.list());
    void this.list();
  }

  /** '' for the system's own choice. */
  get deviceId(): string {
    return this.#select.value;
  }

  async list(): Promise<void> {
    const devices = (await navigator.mediaDevices?.enumerateDevices()) ?? [];
    const microphones = devices.filter(
      // Chromium's two further names for the system's choice.
      ({ kind, deviceId }) => kind === 'audioinput' && !['', 'default', 'communications'].includes(deviceId),
    );
    const standard = make('option', { value: '' });
    this.#language.say(standard, ({ systemMicrophone }) => systemMicrophone);
    const options = microphones.map(({ deviceId, label }) => make('option', { value: deviceId }, label));
    const chosen = options.find(({ value }) => value === this.#select.value) ?? standard;
    this.#select.replaceChildren(standard, ...options);
    chosen.selected = true;
    find('p#microphones').hidden = options.length < 2;
  }
}
