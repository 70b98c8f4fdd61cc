import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { packageRoot } from '../../../common/package-root.ts';

const MODULE = pathToFileURL(join(packageRoot(), 'common/launch/quiet-run.mjs')).href;

test.each(['SIGINT', 'SIGHUP'])(
  '%s at the very moment in which the program ends is not lost',
  async (signal) => {
    const script = `
    import { ChildProcess } from 'node:child_process';
    import { quietRun } from "${MODULE}";
    const { emit } = ChildProcess.prototype;
    ChildProcess.prototype.emit = function (name, ...values) {
      if (name === 'close') process.kill(process.pid, '${signal}');
      return emit.call(this, name, ...values);
    };
    await quietRun('true', []).then(
      () => console.log('went on'),
      (error) => console.log(error.name, error.signal),
    );`;
    const setup = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let said = '';
    setup.stdout.setEncoding('utf8').on('data', (piece: string) => {
      said += piece;
    });
    await once(setup, 'close');
    expect(said).toBe(`Interrupted ${signal}\n`);
  },
);
