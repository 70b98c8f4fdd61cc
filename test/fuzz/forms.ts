import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { FastifyRequest } from 'fastify';
import { readUploadForm } from '../../api/uploads/upload.ts';
import { ApiFailure, FormFailure } from '../../common/errors/errors.ts';
import { formRequest } from '../support/form.ts';
import { anyForm, rightForm } from './form-bodies.ts';
import { pureFuzz } from './fuzz.ts';

type FormVerdict = { readonly file: Buffer } | { readonly status: 413 | 422 };

let request: Promise<FastifyRequest> | undefined;

/** What the reader says; anything but a documented refusal is a fault. */
async function verdictOfReader(body: Buffer, contentType: string): Promise<FormVerdict> {
  request ??= formRequest();
  try {
    return { file: await readUploadForm(await request, body, contentType) };
  } catch (error) {
    if (error instanceof ApiFailure && error.code === 'upload_too_large') return { status: 413 };
    if (!(error instanceof FormFailure)) throw error;
    const { loc, msg, type } = error.detail;
    assert.ok(loc.length > 0 && msg !== '' && type !== '');
    return { status: 422 };
  }
}

const content = fc.oneof(
  fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
  fc
    .array(fc.constantFrom('\r\n', '\r', '\n', '-', '--', '\r\n--', 'RIFF', '\0', 'Content-Type: a'), {
      maxLength: 12,
    })
    .map((words) => Buffer.from(words.join(''))),
);

export const rightForms = pureFuzz(
  'forms that are right give exactly their file, and only whole',
  100,
  fc.tuple(rightForm(content), fc.infiniteStream(fc.nat())),
  async ([{ body, contentType, file, closedAtBytes }, cuts]) => {
    const expected: FormVerdict = file === undefined ? { status: 422 } : { file };
    assert.deepEqual(await verdictOfReader(body, contentType), expected);
    for (let bytes = 0; bytes < closedAtBytes; bytes += 1 + (Number(cuts.next().value) % 16)) {
      const cut = await verdictOfReader(body.subarray(0, bytes), contentType);
      assert.deepEqual(cut, { status: 422 }, `cut after ${bytes} of ${closedAtBytes} bytes`);
    }
  },
);

export const anyForms = pureFuzz(
  'forms of any kind give a file that is in the body, or a refusal',
  3_000,
  anyForm,
  async ({ body, contentType }) => {
    const verdict = await verdictOfReader(body, contentType);
    if ('file' in verdict) assert.ok(body.includes(verdict.file), 'the file is not in the body');
  },
);
