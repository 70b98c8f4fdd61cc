/** `npm run status`, and in a container `node dist/api/operations/status/main.js`. */
import { createInterface } from 'node:readline/promises';
import { runStatus } from './command.ts';

process.exitCode = await runStatus(process.argv.slice(2), {
  env: process.env,
  print: (line) => console.log(line),
  complain: (line) => console.error(line),
  clear: () => {
    if (process.stdout.isTTY) console.clear();
  },
  ask: async (question) => {
    if (!process.stdin.isTTY) return undefined;
    const terminal = createInterface({ input: process.stdin, output: process.stdout });
    try {
      return await terminal.question(question);
    } finally {
      terminal.close();
    }
  },
  signal: new AbortController().signal,
});
