import { once } from 'node:events';
import { type ClientRequest, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { Replica } from '../chaos/service.ts';
import { AUTHORIZED } from '../support/service/api.ts';
import { holdingOf } from './report.ts';

/** As many as ended a process with 384 MiB before bodies were bounded. */
const UPLOADS = 800;
const BODY_BYTES = 500_000;
/** What ASR_UPLOAD_MEMORY_MB allows, and what connections and their buffers take beside it. */
const MAX_GROWTH_MB = 160;

/**
 * Many uploads at one replica that send nearly all of their body and never finish: most are refused with 503, and
 * the process grows by no more than what is set.
 * @returns a line for the report, and what was wrong
 */
export async function crowd({ origin, kept }: Replica): Promise<{ line: string; faults: string[] }> {
  const pid = kept.run.process.child.pid ?? 0;
  const before = (await holdingOf(pid)).rssMb;
  const sent: ClientRequest[] = [];
  let refused = 0;
  let tell = (): void => undefined;
  const most = new Promise<void>((resolve) => {
    tell = resolve;
  });
  let largest = before;
  try {
    for (let count = 0; count < UPLOADS; count += 1) {
      const headers = {
        ...AUTHORIZED,
        'content-type': 'multipart/form-data; boundary=x',
        'content-length': BODY_BYTES,
      };
      const upload = request(`${origin}/v1/audio/transcriptions`, { method: 'POST', headers });
      upload.on('error', () => undefined);
      upload.on('response', (answer) => {
        if (answer.statusCode === 503) refused += 1;
        if (refused > UPLOADS / 2) tell();
        answer.resume();
      });
      upload.write(Buffer.alloc(BODY_BYTES - 1));
      await once(upload, 'socket');
      sent.push(upload);
      if (count % 50 === 49) largest = Math.max(largest, (await holdingOf(pid)).rssMb);
    }
    await Promise.race([most, delay(10_000)]);
    largest = Math.max(largest, (await holdingOf(pid)).rssMb);
  } finally {
    for (const upload of sent) upload.destroy();
  }
  const growthMb = Math.round(largest - before);
  const faults = [
    ...(refused > UPLOADS / 2 ? [] : [`only ${refused} of ${UPLOADS} unfinished uploads were refused`]),
    ...(growthMb <= MAX_GROWTH_MB ? [] : [`unfinished uploads made ${kept.name} larger by ${growthMb} MB`]),
  ];
  return {
    line: `${UPLOADS} unfinished uploads: ${refused} refused, ${growthMb} MB more at ${kept.name}`,
    faults,
  };
}
