import type { Texts } from './texts.ts';

export const english: Texts = {
  lang: 'en',
  otherLanguage: ['zh-CN', '简体中文'],
  labels: undefined,
  failures: {
    microphone_refused: [
      'Access to the microphone was denied.',
      'Allow the microphone for this page (the icon beside the address), then press record again.',
    ],
    microphone_missing: ['No microphone was found.', 'Connect one, or choose a recorded file instead.'],
    microphone_in_use: [
      'The microphone could not be opened.',
      'Another program may be using it: close that program and press record again.',
    ],
    microphone_silent: [
      'No sound comes from the microphone.',
      'Check that it is switched on and chosen in your system’s sound settings, then try again.',
    ],
    microphone_lost: [
      'The microphone was disconnected.',
      'What was recorded until then has been recognized. Connect it again to go on.',
    ],
    page_not_secure: [
      'Browsers allow the microphone only on HTTPS or localhost pages.',
      'Open this page over https://, or as localhost on the server itself. Choosing a file works here too.',
    ],
    browser_too_old: [
      'This browser cannot record for this page.',
      'Use a current Chrome, Edge, Firefox or Safari, or choose a recorded file.',
    ],
    too_short: [
      'That was too short to hear anything.',
      'Press once and speak, then press again; or hold the button while you speak.',
    ],
    token_missing: [
      'The service needs its access token first.',
      'Enter it above. Ask whoever runs the service; npm start prints it.',
    ],
    unauthorized: [
      'The service does not accept this token.',
      'Check that the whole token was copied, and enter it again above.',
    ],
    forbidden: [
      'The service does not accept requests from this device.',
      'Ask its operator to add your IP address to ASR_ALLOWED_CLIENTS.',
    ],
    busy: ['The service is busy with another recording.', 'It takes one at a time. Try again in a moment.'],
    not_ready: [
      'The speech model is not ready yet.',
      'It is loading, or could not be loaded. Try again in a moment, or ask the operator.',
    ],
    overloaded: [
      'The service could not keep up with the live audio.',
      'The recording is kept. Try again to have it recognized as a whole.',
    ],
    connection_lost: [
      'The connection to the service was lost.',
      'Check the network and that the service is running, then try again.',
    ],
    stream_refused: [
      'No live text: the connection for it was refused.',
      'If this keeps happening, tell the operator: ASR_ALLOWED_ORIGINS must include this page’s address, and a proxy must pass on WebSockets.',
    ],
    timeout: [
      'The service waited too long for the audio.',
      'The network may be slow. Try again, preferably with a shorter recording.',
    ],
    inference_failed: [
      'Recognition failed.',
      'Try again. If it happens with every recording, tell the operator.',
    ],
    cancelled: ['Stopped waiting.', 'The recording is kept, to try again.'],
    file_unreadable: [
      'This file cannot be read as audio.',
      'Choose a WAV, MP3 or M4A file. The line below says what is wrong with this one.',
    ],
    file_cut_off: [
      'The file is incomplete: the end of the recording is missing.',
      'Copy or download it again.',
    ],
    file_too_long: ['The recording is too long.', 'Cut it into pieces; 2 to 8 seconds are best.'],
    file_empty: ['The file contains no audio.', 'Choose another file.'],
    unexpected: [
      'An unexpected error occurred.',
      'Try again; if it happens again, send the operator the line below.',
    ],
  },
  status: {
    ready: 'Ready',
    busy: 'Busy',
    loading: 'Model loading',
    unavailable: 'Model not available',
    checking: 'Checking',
    unreachable: 'Not reachable',
    no_token: '',
  },
  model: 'Model',
  measures: {
    audio_ms: 'Audio',
    finalize_ms: 'Final text after',
    inference_ms: 'Recognition',
  },
  button: {
    idle: ['Start recording', 'Press once to start and once to stop, or hold while you speak.'],
    opening: ['Waiting for the microphone…'],
    recording: ['Stop recording', 'Press again to finish, or let go if you are holding.'],
    recognizing: ['Recognizing…'],
  },
  placeholder: 'Press the button and speak Chinese. Your words appear here as you say them.',
  copy: 'Copy',
  copyAll: 'Copy all',
  spaceHint: ' The space bar works too.',
  level: 'Microphone level',
  listening: 'Listening…',
  nothingHeard: 'No words were recognized. Speak a little louder or closer to the microphone.',
  notRecognized: 'Not recognized.',
  copied: 'Copied',
  play: 'Play',
  pause: 'Pause',
  save: 'Save WAV',
  saveText: 'Download text',
  remove: 'Delete',
  tryAgain: 'Try again',
  cancel: 'Stop waiting',
  microphone: 'Microphone',
  systemMicrophone: 'Chosen by the system',
  keepSpeaking: 'Keep speaking: the whole recording will be recognized when you stop.',
  notNow: 'One recording at a time: finish this one first.',
  limitReached: 'The 15 seconds are up; the recording has ended.',
  left: (seconds) => `${seconds} seconds left`,
  triesAgain: 'The page tries again by itself until it is your turn. No action needed.',
  seconds: (ms) => `${(ms / 1000).toFixed(1)} s`,
  result: 'Result: ',
};
