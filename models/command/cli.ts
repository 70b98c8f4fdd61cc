/** `npm run models -- …` */
import { runAsProcess } from './command-process.ts';

await runAsProcess(process.argv.slice(2), process.env);
