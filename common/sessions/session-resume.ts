import { unreachable } from '../errors/errors.ts';
import type { ResultEntry } from './entries.ts';

/** How far the processes before this one got with a session. For the first one: nowhere. */
export interface ResumePoint {
  /** Processes that have claimed it, the one that asks included. One that claims it again counts once. */
  readonly claimants: number;
  /** Bytes that have gone into a model call: nothing new is said about them. */
  readonly takenBytes: number;
  /** The last partial's revision; 0 before the first. */
  readonly revision: number;
  /** The last partial's text; '' before the first. */
  readonly text: string;
}

/** @param results everything published so far, in order */
export function resumePoint(results: readonly ResultEntry[]): ResumePoint {
  const claimants = new Set<string>();
  let point: ResumePoint = { claimants: 0, takenBytes: 0, revision: 0, text: '' };
  for (const entry of results) {
    switch (entry.kind) {
      case 'claimed':
        claimants.add(entry.by);
        point = { ...point, claimants: claimants.size };
        break;
      case 'progress':
        point = { ...point, takenBytes: Math.max(point.takenBytes, entry.takenBytes) };
        break;
      case 'partial':
        point = { ...point, revision: entry.revision, text: entry.text };
        break;
      case 'final':
      case 'failed':
        // The same script that wrote it has ended the session: nobody can have claimed it afterwards.
        break;
      default:
        unreachable(entry);
    }
  }
  return point;
}
