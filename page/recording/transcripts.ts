import { joinedText } from '../../client/long/transcript-log.ts';
import type { Transcript } from '../../client/protocol/transcript.ts';

export const NOTHING_YET: Transcript = { text: '', audio_ms: 0, inference_ms: 0, pieces: [] };

/** @param rest of the same recording, from the end of `before` on */
export function continued(before: Transcript, rest: Transcript): Transcript {
  const shifted = rest.pieces.map((piece) => ({
    ...piece,
    start_ms: before.audio_ms + piece.start_ms,
    end_ms: before.audio_ms + piece.end_ms,
  }));
  return {
    text: joinedText([before.text, rest.text]),
    audio_ms: before.audio_ms + rest.audio_ms,
    inference_ms: before.inference_ms + rest.inference_ms,
    pieces: [...before.pieces, ...shifted],
  };
}
