// The compiled command line with another catalogue and folder, as a process of its own: `node cli-process.mjs
// <settings as JSON> <arguments…>`
import { runAsProcess } from '../../../../dist/models/command/command-process.js';
import { modelFolders } from '../../../../dist/models/store/store.js';

const { root, catalogue, timing } = JSON.parse(process.argv[2]);
await runAsProcess(process.argv.slice(3), process.env, { catalogue, folders: modelFolders(root), timing });
