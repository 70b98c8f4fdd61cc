import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { shortened } from '../../../api/routes/page-text.ts';
import { packageRoot } from '../../../common/package-root.ts';

const PAGE = join(packageRoot(), 'dist', 'api', 'page');
const SCRIPTS = readdirSync(PAGE).filter((name) => name.endsWith('.js'));

/** What is within quotes; what is within `${}` is no text. */
function texts(script: string): string[] {
  const quoted = script.match(/'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`/g) ?? [];
  return quoted.map((text) => text.replace(/\$\{[^}]*\}/g, '$'));
}

it.each(SCRIPTS)('leaves the texts of %s as they are', (name) => {
  const script = readFileSync(join(PAGE, name), 'utf8');
  expect(texts(shortened(script, 'js'))).toEqual(texts(script));
});

it('takes the blanks out of all of them', () => {
  const scripts = SCRIPTS.map((name) => readFileSync(join(PAGE, name), 'utf8')).join('\n');
  expect(texts(scripts).length).toBeGreaterThan(500);
  expect(shortened(scripts, 'js').length).toBeLessThan(0.95 * scripts.length);
});
