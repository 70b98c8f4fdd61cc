import { FFMPEG_COMMAND } from '../../common/audio/file-kinds.ts';
import {
  clock,
  MAX_DECODED_MB,
  MAX_DECODED_MINUTES,
  MAX_FILES,
  MAX_MINUTES,
  MAX_WAITING_MINUTES,
  megabytesUp,
  minutesUp,
  type Texts,
} from './texts.ts';

function wayOut(format: string | undefined): string {
  if (format === undefined) return 'Choose a WAV, MP3 or M4A file.';
  if (format.startsWith('SILK')) return 'Decode it with silk-v3-decoder, then choose the result.';
  return `Convert it: ${FFMPEG_COMMAND}`;
}

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
      'Check that it is switched on and chosen in your system’s sound settings. Firefox also needs a sound output, such as a headset. Then try again.',
    ],
    microphone_lost: [
      'The microphone was disconnected.',
      'What was recorded until then is kept and recognized. Connect it again to go on.',
    ],
    recording_limit: [
      `The ${MAX_MINUTES} minutes are up; the recording has ended.`,
      'All of it is kept and recognized. Start another one to go on.',
    ],
    waiting_limit: [
      `The recording has ended: ${MAX_WAITING_MINUTES} minutes of it wait for the service, and no more can.`,
      'All of it is kept and recognized. Start another one once the service has time.',
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
      'The recording is kept. Try again to have it recognized.',
    ],
    queued: ['Other recordings may be in front of this one.', 'Try again in a moment.'],
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
    file_unreadable: (name, { format }) => [
      format === undefined
        ? `${name} is not audio that this browser can read.`
        : `${name} is ${format}. This browser cannot read it.`,
      wayOut(format),
    ],
    file_damaged: (name) => [`${name} is a damaged WAV file.`, 'Save or export the recording again.'],
    file_cut_off: (name) => [
      `${name} is incomplete: the end of the recording is missing.`,
      'Copy or download it again.',
    ],
    file_too_long: (name, { lengthMs }) => [
      lengthMs === undefined
        ? `${name} is too long; the limit is ${MAX_MINUTES} minutes.`
        : `${name} is ${minutesUp(lengthMs)} minutes long; the limit is ${MAX_MINUTES} minutes.`,
      'Use asr-client transcribe, which takes 6 hours, or cut it into pieces.',
    ],
    file_too_long_to_decode: (name, { lengthMs = 0 }) => [
      `${name} is ${minutesUp(lengthMs)} minutes long; the limit for all but WAV is ${MAX_DECODED_MINUTES} minutes.`,
      `Use asr-client transcribe, which takes 6 hours, or convert it: ${FFMPEG_COMMAND}`,
    ],
    file_too_large: (name, { bytes = 0 }) => [
      `${name} has ${megabytesUp(bytes)} MB; the limit for all but WAV is ${MAX_DECODED_MB} MB.`,
      `Use asr-client transcribe, or keep only its sound: ${FFMPEG_COMMAND}`,
    ],
    file_empty: (name) => [`${name} contains no audio.`, 'Choose another file.'],
    unexpected: [
      'An unexpected error occurred.',
      'Try again; if it happens again, send the operator the line below.',
    ],
  },
  thisRecording: 'The recording',
  sentenceGap: ' ',
  ofFile: (name, what) => `${name}: ${what}`,
  status: {
    ready: 'Ready',
    recording: 'Recording',
    recognizing: 'Recognizing',
    busy: 'Busy',
    loading: 'Model loading',
    unavailable: 'Model not available',
    checking: 'Checking',
    unreachable: 'Not reachable',
    no_token: '',
  },
  model: (id, family) => {
    if (id === 'bundled' && family === 'whisper') return 'Bundled model (Whisper base)';
    return family === undefined ? `Model ${id}` : `Model ${id} (${family})`;
  },
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
    waiting: ['Waiting for the service…'],
  },
  placeholder: 'Press the button and speak Chinese. Your words appear here as you say them.',
  copy: 'Copy',
  copyAll: 'Copy all',
  spaceHint: ' The space bar works too.',
  level: 'Microphone level',
  listening: 'Listening…',
  nothingHeard: 'No words were recognized. Speak a little louder or closer to the microphone.',
  nothingInFile: 'No words were recognized in this file.',
  notRecognized: 'Not recognized.',
  copied: 'Copied',
  play: 'Play',
  pause: 'Pause',
  save: 'Save WAV',
  saveText: 'Download text',
  saveSubtitles: 'Subtitles (SRT)',
  textFileName: 'texts',
  remove: 'Delete',
  removed: (name) => `Deleted: ${name}. You can undo this for 5 seconds.`,
  undo: 'Undo',
  tryAgain: 'Try again',
  cancel: 'Stop waiting',
  stopAll: 'Stop',
  microphone: 'Microphone',
  systemMicrophone: 'Chosen by the system',
  keepSpeaking: 'Keep speaking: everything is kept and will be recognized.',
  notNow: 'One recording at a time: finish this one first.',
  tooManyFiles: `At most ${MAX_FILES} files are taken at once: choose the others later.`,
  recognizing: (name, number, count) => (count === 1 ? name : `File ${number} of ${count}: ${name}`),
  recognized: (recognizedMs, lengthMs) => `${clock(recognizedMs)} of ${clock(lengthMs)} recognized`,
  audioWaits: (ms) => `${clock(ms)} of the recording waits; at most ${MAX_WAITING_MINUTES}:00 can.`,
  timer: { left: ['', ' left'], waited: ['Waited ', ''] },
  left: (seconds) => (seconds < 120 ? `${seconds} seconds left` : `${seconds / 60} minutes left`),
  triesAgain: 'The page tries again by itself until it is your turn. No action needed.',
  seconds: (ms) => (ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : clock(ms)),
  result: 'Result: ',
  longResult: 'Recognized to its end.',
};
