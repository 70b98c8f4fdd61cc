import type { Texts } from './texts.ts';

const milliseconds = (ms: number): string => `${Math.round(ms).toLocaleString('en')} ms`;

export const english: Texts = {
  lang: 'en',
  labels: undefined,
  failures: {
    microphone_refused: {
      what: 'The browser may not use the microphone.',
      todo: 'Allow the microphone for this page (the icon beside the address), then press record again.',
    },
    microphone_missing: {
      what: 'No microphone was found.',
      todo: 'Connect one, or choose a recorded file instead.',
    },
    microphone_in_use: {
      what: 'The microphone could not be opened.',
      todo: 'Another program may be using it: close that program and press record again.',
    },
    microphone_silent: {
      what: 'The microphone gives no sound.',
      todo: 'Check that it is switched on and chosen in your system’s sound settings, then try again.',
    },
    microphone_lost: {
      what: 'The microphone was disconnected.',
      todo: 'What was recorded until then has been recognized. Connect it again to go on.',
    },
    page_not_secure: {
      what: 'Browsers give the microphone only to pages on HTTPS or localhost.',
      todo: 'Open this page over https://, or on the server itself at http://localhost. Choosing a file works here too.',
    },
    browser_too_old: {
      what: 'This browser cannot record for this page.',
      todo: 'Use a current Chrome, Edge, Firefox or Safari, or choose a recorded file.',
    },
    too_short: {
      what: 'That was too short to hear anything.',
      todo: 'Press once and speak, then press again; or hold the button while you speak.',
    },
    token_missing: {
      what: 'The service needs its access token first.',
      todo: 'Enter it above. The service printed it when it started.',
    },
    unauthorized: {
      what: 'The service does not accept this token.',
      todo: 'Check that the whole token was copied, and enter it again above.',
    },
    forbidden: {
      what: 'The service does not accept requests from this computer.',
      todo: 'Ask its operator to add your address to ASR_ALLOWED_CLIENTS.',
    },
    busy: {
      what: 'The service is busy with another recording.',
      todo: 'It takes one at a time. Try again in a moment.',
    },
    not_ready: {
      what: 'The speech model is not ready yet.',
      todo: 'It is loading, or could not be loaded. Try again in a moment, or ask the operator.',
    },
    overloaded: {
      what: 'The service could not keep up with the live audio.',
      todo: 'The recording is kept. Try again to have it recognized as a whole.',
    },
    connection_lost: {
      what: 'The connection to the service was lost.',
      todo: 'Check the network and that the service is running, then try again.',
    },
    timeout: {
      what: 'The service waited too long for the audio.',
      todo: 'The network may be slow. Try again, best with a shorter recording.',
    },
    inference_failed: {
      what: 'The recognition itself failed.',
      todo: 'Try again. If it happens with every recording, tell the operator.',
    },
    cancelled: {
      what: 'Stopped waiting.',
      todo: 'The recording is kept below; try again whenever you like.',
    },
    file_unreadable: {
      what: 'This file is no audio that can be read.',
      todo: 'Choose a WAV, MP3 or M4A file.',
    },
    file_too_long: {
      what: 'The recording is longer than 15 seconds.',
      todo: 'Cut it into pieces of up to 15 seconds; 2 to 8 seconds are best.',
    },
    file_empty: { what: 'The file holds no sound.', todo: 'Choose another file.' },
    unexpected: {
      what: 'Something went wrong that should not.',
      todo: 'Try again; if it stays, send the operator the line below.',
    },
  },
  placeholder: 'Press the button and speak Chinese. Your words appear here as you say them.',
  audioMs: 'Audio',
  finalizeMs: 'Final after the end',
  inferenceMs: 'Recognition',
  copy: 'Copy',
  startHint: 'Press once to start and once to stop, or hold while you speak.',
  spaceHint: ' The space bar works too.',
  stopHint: 'Press again to finish, or let go if you are holding.',
  start: 'Start recording',
  opening: 'Waiting for the microphone…',
  stop: 'Stop recording',
  recognizing: 'Recognizing…',
  level: 'Microphone level',
  listening: 'Listening…',
  nothingHeard: 'No words were recognized. Speak a little louder or nearer to the microphone.',
  copied: 'Copied',
  play: 'Play',
  pause: 'Pause',
  save: 'Save WAV',
  tryAgain: 'Try again',
  cancel: 'Stop waiting',
  microphone: 'Microphone',
  statusReady: 'Ready',
  statusLoading: 'Model loading',
  statusChecking: 'Checking',
  statusUnreachable: 'Not reachable',
  statusNoToken: 'Token needed',
  keepSpeaking: 'Keep speaking: the whole recording will be recognized when you stop.',
  limitReached: 'Fifteen seconds are full; the recording has ended.',
  left: (seconds) => `${seconds} seconds left`,
  retryIn: (seconds, attempt, attempts) =>
    `Trying again in ${seconds} s (${attempt} of ${attempts}). You need not do anything.`,
  milliseconds,
  result: (text) => `Result: ${text}`,
};
