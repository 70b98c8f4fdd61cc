import { describe, expect, it } from 'vitest';
import { FAMILIES } from '../../../inference/engine/families/families.ts';
import { CATALOGUE, findEntry } from '../../../models/catalogue.ts';
import { archiveUrl } from '../../../models/download/archive.ts';
import { ModelFailure } from '../../../models/failure.ts';
import { BUNDLED } from '../../../models/model-card.ts';

describe('the catalogue', () => {
  it('has usable, distinct ids, hashes and archives, and one recommendation', () => {
    for (const entry of CATALOGUE) {
      expect(entry.id).toMatch(/^[a-z0-9-]+$/);
      expect(entry.archiveSha256).toMatch(/^[0-9a-f]{64}$/);
      expect(entry.archiveBytes).toBeGreaterThan(10_000_000);
      for (const { source } of entry.characterErrorRates) expect(new URL(source).protocol).toBe('https:');
      if (entry.licence !== undefined) expect(new URL(entry.licence.source).protocol).toBe('https:');
    }
    for (const key of ['id', 'archive', 'archiveSha256'] as const) {
      expect(new Set(CATALOGUE.map((entry) => entry[key])).size).toBe(CATALOGUE.length);
    }
    expect(CATALOGUE.filter((entry) => entry.recommended).map((entry) => entry.id)).toEqual(['x-asr-480ms']);
  });

  it.each(CATALOGUE.filter((entry) => entry.isReDecoding))(
    'has updates of a stream every 500 ms for $id, which recognizes it anew',
    (entry) => {
      expect(entry.id).toMatch(/^(whisper-(tiny|base|small)|sense-voice)$/);
      expect(entry.stepMs).toBe(500);
    },
  );

  it.each([BUNDLED, ...CATALOGUE])('says of $id what its family is', ({ family, isReDecoding }) => {
    expect(FAMILIES.find(({ name }) => name === family)).toMatchObject({ isReDecoding });
  });

  it('leads to the public release, or to the mirror', () => {
    const entry = findEntry('x-asr-160ms');
    if (entry === undefined) throw new Error('x-asr-160ms is gone');
    const file = 'sherpa-onnx-x-asr-160ms-streaming-zipformer-transducer-zh-en-punct-int8-2026-06-05.tar.bz2';
    expect(archiveUrl(entry, undefined)).toBe(
      `https://github.com/k2-fsa/sherpa-onnx/releases/download/asr-models/${file}`,
    );
    expect(archiveUrl(entry, 'http://mirror.example/models//')).toBe(`http://mirror.example/models/${file}`);
    expect(archiveUrl(entry, ' http://mirror.example/models \n')).toBe(
      `http://mirror.example/models/${file}`,
    );
    expect(archiveUrl(entry, ' ')).toBe(archiveUrl(entry, undefined));
  });

  it.each([
    ['mirror.example', '"mirror.example"'],
    ['ftp://mirror.example', '"ftp://mirror.example"'],
    ['https://user:secret@mirror.example', 'no address that can be used'],
    ['https://user:secret/word@mirror.example', 'no address that can be used'],
    ['https://mirror.example/models?sig=secret', 'no address that can be used'],
    ['https://mirror.example/#/models', 'no address that can be used'],
  ])('refuses the mirror %s', (mirror, shown) => {
    const entry = CATALOGUE[0];
    if (entry === undefined) throw new Error('the catalogue is empty');
    expect(() => archiveUrl(entry, mirror)).toThrow(
      new ModelFailure(
        `ASR_MODEL_MIRROR is ${shown}: expected http:// or https:// without user, password, query and fragment, because the archive's name is appended to it, e.g. https://github.com/k2-fsa/sherpa-onnx/releases/download/asr-models`,
      ),
    );
  });
});
