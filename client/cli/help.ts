import { MAX_CHANNELS } from '../../common/audio/wav-format.ts';

export const HELP = `asr-client: Chinese speech recognition from the command line

  asr-client transcribe [OPTIONS] FILE...    recognize recordings of any length ("-": standard input)
  asr-client ready [--json]                  ask whether the service can recognize now

FILE is a WAV file of any sample rate from 8 to 384 kHz, up to ${MAX_CHANNELS} channels and any PCM form; it is converted to 16 kHz mono.
Other formats (MP3, M4A, Opus, FLAC, video) go through ffmpeg where that is installed.
The service takes 15 s at a time: a longer recording is cut at its pauses, and the text comes a piece a line.

  --stream            send in real time and show the text as it is recognized; standard input is sent as it comes:
                      arecord -q -f S16_LE -r 16000 | asr-client transcribe --stream -
  --format FORMAT     text, json, srt or vtt; subtitles for one FILE:
                      asr-client transcribe --format srt talk.mp4 > talk.srt
  --json              as --format json, one object per line:
                      {"file", "text", "audio_ms", "inference_ms", "pieces": [{"text", "start_ms", "end_ms"}]} or
                      {"file", "error", "message"} with text, audio_ms and pieces if a part was recognized; with --stream
                      {"file", "type": "partial", "revision", "text"} for the piece that is being spoken,
                      {"file", "type": "piece", "text", "start_ms", "end_ms"} and
                      {"file", "type": "final", "revision", "text", "audio_ms", "finalize_ms"}
  --url URL           address of the service; default $ASR_URL, else http://127.0.0.1:8088
  --token-file FILE   file that holds the API token; default: the environment variable ASR_API_TOKEN
  --patience S        how long to try again while the service is busy; default 120 seconds
  --attempts N        attempts in all; default: 8 while it is not ready or not reachable (about 15 s), any number while it is busy
  --gap S             the slot is left to others for 1.5 seconds after each 5 that were used; 0: never
  --help, --version

Texts go to standard output, everything else to standard error.

Exit codes
  0    every recording was recognized; the service is ready
  1    a recording cannot be recognized (not readable, wrong format, empty, the model failed)
  2    wrong command line or setting, or standard output cannot be written (a full disk)
  3    token or address refused by the service
  4    the service stayed busy or not ready
  5    the service is not reachable, too slow, or something else answers
  6    a part of a recording was recognized and printed, then it failed
  130  interrupted; what was recognized is printed
With several files: the code of the first that failed. The others are still tried, except after 3 and 5.
`;
