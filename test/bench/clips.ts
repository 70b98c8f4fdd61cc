import { BYTES_PER_SECOND } from '../../common/audio/limits.ts';
import { fixtures } from '../support/audio/fixtures.ts';
import { wavFile } from '../support/audio/wav.ts';

const BOUNDARY = '----asr-bench-0123456789abcdef';
export const FORM_TYPE = `multipart/form-data; boundary=${BOUNDARY}`;

/** Speech without an end: the recordings of test/fixtures one behind the other, again and again. */
export class Speech {
  readonly #pcm: Buffer;

  private constructor(pcm: Buffer) {
    this.#pcm = pcm;
  }

  static read(): Speech {
    return new Speech(Buffer.concat(fixtures().map(({ pcm }) => pcm)));
  }

  /** @returns 16 kHz mono PCM16 bytes of exactly this length. */
  pcm(durationMs: number): Buffer {
    const clip = Buffer.alloc((durationMs * BYTES_PER_SECOND) / 1000);
    for (let filled = 0; filled < clip.length; filled += this.#pcm.length) this.#pcm.copy(clip, filled);
    return clip;
  }

  wav(durationMs: number): Buffer {
    return wavFile(this.pcm(durationMs));
  }

  /** @returns the body of an upload of such a clip as `file`. */
  form(durationMs: number): Buffer {
    return Buffer.concat([
      Buffer.from(
        `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="clip.wav"\r\nContent-Type: audio/wav\r\n\r\n`,
      ),
      this.wav(durationMs),
      Buffer.from(`\r\n--${BOUNDARY}--\r\n`),
    ]);
  }
}
