import { controlVerdict } from './control-messages.ts';
import { type Step, type StreamCase, VIOLATIONS } from './stream-steps.ts';

/**
 * How a stream ends: with `final` and 1000, an error message with its code, a bare close code of the
 * WebSocket layer, or because the client left.
 */
export type Ending = 'final' | 'left' | `error ${string}` | `close ${number}`;

type Phase = 'before start' | 'opening' | 'ready' | 'finishing';

const MAX_RECORDING_BYTES = 480_000;
const MAX_WAITING_BYTES = 64_000;
const MAX_FRAME_BYTES = 3_200;
const CHUNK_BYTES = 16_000;

/**
 * The interface's table of a streaming session, read as a machine that says which endings are possible. Where
 * the client does not wait, several are: a frame sent behind `start` is too early or, if the server was
 * quick, in time.
 */
export class StreamModel {
  readonly #case: StreamCase;
  #phases = new Set<Phase>(['before start']);
  #endings = new Set<Ending>();
  /** Audio accepted so far. */
  bytes = 0;
  /** Of these, what the model has surely taken. */
  #takenBytes = 0;

  constructor(streamCase: StreamCase) {
    this.#case = streamCase;
  }

  get endings(): ReadonlySet<Ending> {
    return this.#endings;
  }
  /** Whether the server has ended it, whatever the client does. */
  get over(): boolean {
    return this.#phases.size === 0;
  }
  /** Whether the client may wait for `ready`. */
  get opening(): boolean {
    return this.#phases.has('opening');
  }
  get finishing(): boolean {
    return this.#phases.has('finishing');
  }
  /** Whether the recording is open, for sure. */
  get open(): boolean {
    return this.#phases.size === 1 && this.#phases.has('ready') && this.#endings.size === 0;
  }

  /** `ready` has come: nothing that could have happened before has. @returns whether it was possible */
  sawReady(): boolean {
    const possible = this.#phases.has('ready');
    this.#phases = new Set(['ready']);
    this.#endings.clear();
    return possible;
  }

  /** A partial has come whose text is of so much audio. */
  sawTaken(bytes: number): void {
    this.#takenBytes = bytes;
  }

  step(step: Step): void {
    const { token } = this.#case;
    switch (step.do) {
      case 'start':
        this.#start(true, token === 'in start' || token === 'in the header');
        break;
      case 'text': {
        const verdict = controlVerdict(step.text);
        if (verdict === 'invalid') this.#ends('error invalid_message');
        else if (verdict === 'end') this.#end();
        // No text of the generator has the right token; what it has counts for nothing beside a header.
        else
          this.#start(
            verdict.fieldsAreRight && (verdict.tokenIsText || token === 'in the header'),
            token === 'in the header',
          );
        break;
      }
      case 'end':
        this.#end();
        break;
      case 'audio':
        this.#audio(step.bytes);
        break;
      case 'violate':
        this.#ends(`close ${VIOLATIONS[step.how].closeCode}`);
        break;
      case 'close':
        this.#ends('left');
        break;
      case 'cut':
        // What the server said last is then not always seen.
        this.#endings.add('left');
        this.#phases.clear();
        break;
      case 'real time':
      case 'await ready':
      case 'ping':
      case 'pong':
        break;
    }
  }

  #ends(ending: Ending): void {
    if (!this.over) this.#endings.add(ending);
    this.#phases.clear();
  }

  /** Replaces each possible phase by what can follow it. */
  #each(follow: (phase: Phase) => readonly (Phase | Ending)[]): void {
    const phases = [...this.#phases].flatMap(follow);
    this.#phases = new Set(phases.filter(isPhase));
    for (const ending of phases) if (!isPhase(ending)) this.#endings.add(ending);
  }

  #start(valid: boolean, authorized: boolean): void {
    const { trouble } = this.#case;
    this.#each((phase) => {
      if (phase !== 'before start') return ['error invalid_sequence'];
      if (!valid) return ['error invalid_message'];
      if (!authorized) return ['opening', 'error unauthorized'];
      return trouble === 'busy' ? ['opening', 'error busy'] : ['opening', 'ready'];
    });
  }

  #end(): void {
    const { trouble } = this.#case;
    this.#each((phase) => {
      if (phase !== 'ready') return ['error invalid_sequence'];
      // Without audio there is nothing for the model to fail on.
      const fails = trouble === 'model fails' && this.bytes > 0;
      return ['finishing', fails ? 'error inference_failed' : 'final'];
    });
  }

  #audio(bytes: number): void {
    const { trouble } = this.#case;
    const total = this.bytes + bytes;
    let accepted = false;
    this.#each((phase) => {
      if (phase !== 'ready') return ['error invalid_sequence'];
      if (bytes === 0 || bytes % 2 !== 0 || bytes > MAX_FRAME_BYTES) return ['error invalid_frame'];
      if (total > MAX_RECORDING_BYTES) return ['error audio_too_long'];
      accepted = true;
      const next: (Phase | Ending)[] = [];
      if (total - this.#takenBytes > MAX_WAITING_BYTES) next.push('error overloaded');
      // A model that hangs has taken one chunk and no more.
      if (trouble !== 'model hangs' || total - CHUNK_BYTES <= MAX_WAITING_BYTES) next.push('ready');
      if (trouble === 'model fails' && total >= CHUNK_BYTES) next.push('error inference_failed');
      return next;
    });
    if (accepted) this.bytes = total;
  }
}

function isPhase(value: Phase | Ending): value is Phase {
  return value === 'before start' || value === 'opening' || value === 'ready' || value === 'finishing';
}
