// Makes this checkout runnable, then becomes the program that was asked for: `node launch/setup/setup.mjs
// start`. It runs before anything is installed, so this folder's .mjs files load Node's modules alone; this
// first one also parses on versions that are too old.

// Dependencies load ES modules with require(), which the 20 and 22 lines learnt on the way and 21 never did.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
const isNewEnough = (major === 20 && minor >= 19) || (major === 22 && minor >= 12) || major > 22;

if (isNewEnough) {
  import('./commands.mjs').then((commands) => commands.main(process.argv.slice(2)));
} else {
  console.error(
    `Node.js 20.19, 22.12 or anything newer than 22 is needed, this is ${process.version} (${process.execPath}): install one from https://nodejs.org/`,
  );
  process.exitCode = 1;
}
