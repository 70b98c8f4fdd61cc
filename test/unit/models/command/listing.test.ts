import { describe, expect, it } from 'vitest';
import { CATALOGUE } from '../../../../models/catalogue.ts';
import { modelList } from '../../../../models/command/listing.ts';
import { BUNDLED, type ModelCard } from '../../../../models/model-card.ts';

const CARD: ModelCard = {
  id: 'small',
  recommended: false,
  summary: 'for tests',
  languages: 'Chinese',
  family: 'zipformer2-ctc',
  isReDecoding: false,
  stepMs: 320,
  licence: undefined,
  characterErrorRates: [],
};

describe('the list of models', () => {
  it('has what a person chooses by in a few lines for each, the first ones aligned', () => {
    const other: ModelCard = {
      ...CARD,
      id: 'whisper-x',
      recommended: true,
      family: 'whisper',
      isReDecoding: true,
      stepMs: 500,
      licence: { name: 'MIT', source: 'https://licence.example', attribution: 'X by Y' },
      characterErrorRates: [
        { testSet: 'A', percent: 31.9, source: 'https://one.example' },
        { testSet: 'A', percent: 30, source: 'https://two.example' },
        { testSet: 'B', percent: 7.46, source: 'https://one.example' },
      ],
    };
    const list = modelList([
      { card: CARD, bytes: 1024, state: 'here' },
      { card: other, bytes: 204_800, state: '40 % downloaded' },
    ]);
    expect(list.split('\n')).toEqual([
      'small                    here             1.0 KiB    zipformer2-ctc, streaming every 320 ms',
      '  languages   Chinese; for tests',
      '  error rate  none published',
      '  licence     not stated',
      '',
      'whisper-x (recommended)  40 % downloaded  200.0 KiB  whisper, re-decoding every 500 ms',
      '  languages   Chinese; for tests',
      '  error rate  31.9 % on A, 7.46 % on B',
      '              https://one.example',
      '              30 % on A',
      '              https://two.example',
      '  licence     MIT',
      '              https://licence.example',
      '              to be named: X by Y',
    ]);
  });

  it('says of the bundled model that its error rate was measured here', () => {
    const list = modelList([{ card: BUNDLED, bytes: BUNDLED.bytes, state: 'here' }]);
    expect(list).toContain(
      'error rate  9.7 % on 82 recordings of AISHELL-1 and THCHS-30\n              measured here\n',
    );
  });

  it('fits a terminal of 110 columns', () => {
    const cards = [BUNDLED, ...CATALOGUE];
    const lines = modelList(cards.map((card) => ({ card, bytes: 1e9, state: '100 % downloaded' }))).split(
      '\n',
    );
    expect(lines.filter((line) => line.length > 110)).toEqual([]);
  });
});
