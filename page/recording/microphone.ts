import { Failure } from '../service/failures.ts';
import type { FailureKind } from '../texts/texts.ts';
import type { CaptureMessage } from './capture-worklet.ts';

export interface CaptureEvents {
  frame(pcm: Int16Array): void;
  /** The last event. */
  end(reason: CaptureEnd): void;
}

/** Stopped by `stop`; the microphone is gone or gives no audio any more; it never gave any. */
export type CaptureEnd = 'stopped' | 'microphone_lost' | 'microphone_silent';

export interface Capture {
  /** Ends the recording; its tail comes as frames, then `end`. */
  stop(): void;
}

const LOADED_WITHIN_MS = 10_000;
const FRAME_WITHIN_MS = 4_000;
const TAIL_WITHIN_MS = 1_000;
/**
 * Long enough for the audio thread, also a busy one, to take the nodes apart. If the context is closed before
 * that, Chromium never lets go of them.
 */
const TAKEN_APART_MS = 1_000;

const BY_NAME: Readonly<Record<string, FailureKind>> = {
  NotAllowedError: 'microphone_refused',
  SecurityError: 'microphone_refused',
  NotFoundError: 'microphone_missing',
  OverconstrainedError: 'microphone_missing',
  NotReadableError: 'microphone_in_use',
  AbortError: 'microphone_in_use',
};

function microphoneFailure(error: unknown): Failure {
  // By its name alone: WebKit's OverconstrainedError, its word for no microphone at all, is no DOMException.
  const name = error instanceof Object && 'name' in error ? String(error.name) : '';
  return new Failure(BY_NAME[name] ?? 'unexpected', String(error));
}

/**
 * Opens the microphone and starts capturing at once. Must be called from a press, or the browser keeps the audio suspended.
 * @param deviceId the microphone to use, and no other; '' for the system's choice
 * @param signal ends the wait for the microphone, also for the answer to the browser's question, with its
 * reason. A microphone that comes later is let go.
 * @throws Failure when there is no microphone for this page.
 */
export async function openMicrophone(
  deviceId: string,
  events: CaptureEvents,
  signal: AbortSignal,
): Promise<Capture> {
  if (!window.isSecureContext) throw new Failure('page_not_secure', location.origin);
  if (navigator.mediaDevices === undefined || window.AudioWorkletNode === undefined) {
    throw new Failure('browser_too_old');
  }
  const context = new AudioContext();
  const asked = navigator.mediaDevices.getUserMedia({
    // The recognizer wants the voice as it is. Levelling helps it with distant speakers; the other two cut into words.
    audio: {
      channelCount: 1,
      echoCancellation: false,
      noiseSuppression: false,
      autoGainControl: true,
      ...(deviceId === '' ? {} : { deviceId: { exact: deviceId } }),
    },
  });
  try {
    const opened = Promise.all([
      asked.catch((error: unknown) => Promise.reject(microphoneFailure(error))),
      // The one file that is asked for only now, when the service may be away or not answer.
      Promise.race([
        context.audioWorklet.addModule('page/capture-worklet.js'),
        new Promise((_, reject) => setTimeout(reject, LOADED_WITHIN_MS, 'no answer')),
      ]).catch((error: unknown) => {
        throw new Failure('connection_lost', String(error));
      }),
    ]);
    const givenUp = new Promise<never>((_, reject) => {
      signal.onabort = () => reject(signal.reason);
    });
    const [stream] = await Promise.race([opened, givenUp]);
    return capture(context, stream, events);
  } catch (error) {
    void context.close();
    // The permission may still come, after the module failed to load or nobody waits any more.
    asked.then(release, () => {});
    throw error;
  }
}

function release(stream: MediaStream): void {
  for (const track of stream.getTracks()) track.stop();
}

function capture(context: AudioContext, stream: MediaStream, events: CaptureEvents): Capture {
  const node = new AudioWorkletNode(context, 'capture', { channelCount: 1, channelCountMode: 'explicit' });
  const source = context.createMediaStreamSource(stream);
  let ended = false;
  const end = (reason: CaptureEnd): void => {
    if (ended) return;
    ended = true;
    removeEventListener('pointerup', wake);
    node.port.onmessage = null;
    release(stream);
    source.disconnect();
    setTimeout(() => context.close(), TAKEN_APART_MS);
    events.end(reason);
  };
  // On a touch screen only the lifting of the finger counts as a press that may start audio.
  const wake = (): void => void context.resume();
  wake();
  addEventListener('pointerup', wake);
  let silent = setTimeout(end, FRAME_WITHIN_MS, 'microphone_silent');
  let lost = false;
  node.port.onmessage = (event: MessageEvent<CaptureMessage>) => {
    const message = event.data;
    if (message.type === 'end') return end(lost ? 'microphone_lost' : 'stopped');
    clearTimeout(silent);
    // A call, or an output that is gone, suspends the audio without a word.
    silent = setTimeout(end, FRAME_WITHIN_MS, 'microphone_lost');
    events.frame(message.pcm);
  };
  for (const track of stream.getAudioTracks()) {
    track.onended = () => {
      lost = true;
      node.port.postMessage('stop');
    };
  }
  source.connect(node);
  // The node's output is silence. Being on the way to the speakers is what keeps every browser calling it.
  node.connect(context.destination);
  return {
    stop: () => {
      node.port.postMessage('stop');
      // A browser that has suspended the audio may leave the message unread.
      setTimeout(end, TAIL_WITHIN_MS, 'stopped');
    },
  };
}
