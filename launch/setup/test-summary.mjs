// Prints vitest's JSON result as one line, "N passed, N failed". A file that could not even be loaded counts
// as one failure.
import { readFileSync } from 'node:fs';

/**
 * @type {{ numPassedTests: number, numFailedTests: number, testResults: { status: string, assertionResults: {
 * status: string }[] }[] }}
 */
const result = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8'));
const brokenFiles = result.testResults.filter(
  (file) => file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed'),
).length;
const failed = result.numFailedTests + brokenFiles;
console.log(`${result.numPassedTests} passed, ${failed} failed`);
if (failed > 0 || result.numPassedTests === 0) process.exitCode = 1;
