// Makes this checkout runnable, then becomes the program that was asked for: `node common/launch/setup.mjs start`.
// It runs before anything is installed, so this folder's .mjs files use Node alone; this first one also parses on versions that are too old.
const OLDEST_NODE = 20;

if (Number(process.versions.node.split('.')[0]) >= OLDEST_NODE) {
  import('./commands.mjs').then((commands) => commands.main(process.argv.slice(2)));
} else {
  console.error(
    `Node.js ${OLDEST_NODE} or newer is needed, this is ${process.version} (${process.execPath}): install one from https://nodejs.org/`,
  );
  process.exitCode = 1;
}
