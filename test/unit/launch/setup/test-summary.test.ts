import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../../../../common/process/package-root.ts';
import { testFolder } from '../../../support/folders.ts';

const passed = { status: 'passed', assertionResults: [{ status: 'passed' }] };
const failed = { status: 'failed', assertionResults: [{ status: 'passed' }, { status: 'failed' }] };
const notLoaded = { status: 'failed', assertionResults: [] };

test.each([
  ['every test passed', 2, 0, [passed, passed], '2 passed, 0 failed', 0],
  ['one failed', 2, 1, [passed, failed], '2 passed, 1 failed', 1],
  ['a file could not be loaded', 1, 0, [passed, notLoaded], '1 passed, 1 failed', 1],
  ['there was none', 0, 0, [], '0 passed, 0 failed', 1],
])('the last line of CI and its exit code, when %s', (_, passes, failures, files, line, exitCode) => {
  const folder = testFolder();
  const path = join(folder, 'result.json');
  const result = { numPassedTests: passes, numFailedTests: failures, testResults: files };
  writeFileSync(path, JSON.stringify(result));
  const script = join(packageRoot(), 'launch/setup/test-summary.mjs');
  const { stdout, status } = spawnSync(process.execPath, [script, path], { encoding: 'utf8' });
  expect([stdout, status]).toEqual([`${line}\n`, exitCode]);
});
