import { describe, expect, it } from 'vitest';
import { archiveUrl } from '../../../models/archive.ts';
import { CATALOGUE, findEntry } from '../../../models/catalogue.ts';
import { ModelFailure } from '../../../models/failure.ts';

describe('the catalogue', () => {
  it('has usable, distinct ids, hashes and archives, and one recommendation', () => {
    for (const entry of CATALOGUE) {
      expect(entry.id).toMatch(/^[a-z0-9-]+$/);
      expect(entry.archiveSha256).toMatch(/^[0-9a-f]{64}$/);
      expect(entry.archiveBytes).toBeGreaterThan(10_000_000);
      for (const rate of entry.characterErrorRates) expect(new URL(rate.source).protocol).toBe('https:');
    }
    for (const key of ['id', 'archive', 'archiveSha256'] as const) {
      expect(new Set(CATALOGUE.map((entry) => entry[key])).size).toBe(CATALOGUE.length);
    }
    expect(CATALOGUE.filter((entry) => entry.recommended).map((entry) => entry.id)).toEqual(['x-asr-480ms']);
  });

  it('leads to the public release, or to the mirror', () => {
    const entry = findEntry('x-asr-160ms');
    if (entry === undefined) throw new Error('x-asr-160ms is gone');
    const file = 'sherpa-onnx-x-asr-160ms-streaming-zipformer-transducer-zh-en-punct-int8-2026-06-05.tar.bz2';
    expect(archiveUrl(entry, undefined)).toBe(
      `https://github.com/k2-fsa/sherpa-onnx/releases/download/asr-models/${file}`,
    );
    expect(archiveUrl(entry, 'http://mirror.example/models//')).toBe(`http://mirror.example/models/${file}`);
  });

  it.each(['mirror.example', 'ftp://mirror.example', 'https://user:secret@mirror.example'])(
    'refuses the mirror %s',
    (mirror) => {
      const entry = CATALOGUE[0];
      if (entry === undefined) throw new Error('the catalogue is empty');
      expect(() => archiveUrl(entry, mirror)).toThrow(ModelFailure);
      expect(() => archiveUrl(entry, mirror)).toThrow(/^ASR_MODEL_MIRROR is (?!.*secret)/);
    },
  );
});
