import { expect, test } from 'vitest';
import { unknownNameLines } from '../../../../common/config/known-names.ts';
import { pathsIn, read } from '../../../support/tools/project-files.ts';

test.each([
  ['ASR_MODLE', 'did you mean ASR_MODEL?'],
  ['ASR_HOT_WORDS', 'did you mean ASR_HOTWORDS?'],
  ['ASR_TOKEN', 'did you mean ASR_API_TOKEN?'],
  ['ASR_ALLOWED_ORIGIN', 'did you mean ASR_ALLOWED_ORIGINS?'],
  ['ASR_SOMETHING_ELSE_ALTOGETHER', 'docs/configuration.md names all'],
])('%s is named, and what was probably meant', (name, todo) => {
  expect(unknownNameLines({ [name]: 'x', PATH: '/bin', ASR_MODEL: 'bundled' })).toEqual([
    `${name} is no setting and changes nothing: ${todo}`,
  ]);
});

test('what Kubernetes sets for a Service called asr or asr-api is left alone', () => {
  const address = 'tcp://10.0.0.1:8088';
  const ofAsr = { ASR_SERVICE_HOST: '10.0.0.1', ASR_SERVICE_PORT_HTTP: '8088', ASR_PORT: address };
  const ports = { ASR_PORT_8088_TCP: address, ASR_PORT_8088_TCP_ADDR: '10.0.0.1' };
  const ofAsrApi = { ASR_API_SERVICE_HOST: '10.0.0.1', ASR_API_PORT: address };
  expect(unknownNameLines({ ...ofAsr, ...ports, ...ofAsrApi })).toEqual([]);
});

test('each name that a page, an example or a file of the project has is known', () => {
  const files = pathsIn('').filter(
    (file) =>
      /\.(md|ts|mjs|yaml|yml|service|cfg|conf|sh|example)$|^Dockerfile$/.test(file) &&
      // It says what changed, also of names that are gone.
      file !== 'CHANGELOG.md',
  );
  const names = files.flatMap((file) => {
    const text = read(file);
    // Tests give wrong names to others; what they read themselves is right.
    const pattern = file.startsWith('test/') ? /(?<=process\.env\[')ASR_\w+/g : /\bASR_[A-Z_]*[A-Z]\b/g;
    return text.match(pattern) ?? [];
  });
  expect(new Set(names).size).toBeGreaterThan(20);
  expect(unknownNameLines(Object.fromEntries(names.map((name) => [name, 'x'])))).toEqual([]);
});
