#!/usr/bin/env node
// The package's bin. npm links it when a clone is installed, before there is a build.
import { existsSync } from 'node:fs';

const program = new URL('dist/cli.js', import.meta.url);
if (existsSync(program)) {
  await import(program.href);
} else {
  console.error('asr-client: this clone is not built yet: npm ci && npm run build');
  process.exitCode = 2;
}
