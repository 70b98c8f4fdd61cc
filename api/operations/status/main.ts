/** `npm run status`, and in a container `node dist/api/operations/status/main.js`. */
import { runStatus } from './command.ts';

process.exitCode = await runStatus(process.argv.slice(2), {
  env: process.env,
  print: (line) => console.log(line),
  complain: (line) => console.error(line),
});
