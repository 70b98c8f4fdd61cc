import { expect, test } from 'vitest';
import { CATALOGUE } from '../../../../models/catalogue.ts';
import { runCommand } from '../../../../models/command/command.ts';
import { modelFolders } from '../../../../models/store/store.ts';

/** Runs what asks neither disk nor network. */
async function models(argv: readonly string[]) {
  const said = { stdout: '', stderr: '' };
  const code = await runCommand(argv, {
    catalogue: CATALOGUE,
    folders: modelFolders(),
    network: { env: {} },
    print: (line) => {
      said.stdout += `${line}\n`;
    },
    screen: {
      isTerminal: false,
      write: (text) => {
        said.stderr += text;
      },
    },
    signal: new AbortController().signal,
  });
  return { code, ...said };
}

test.for([
  { argv: [], wrong: 'no command' },
  { argv: ['pull'], wrong: 'pull takes one id' },
  { argv: ['pull', 'x-asr-480ms', 'x'], wrong: 'pull takes one id' },
  { argv: ['list', 'x'], wrong: 'list takes no id' },
  { argv: ['pull', 'x-asr-480ms', '--from'], wrong: "Option '--from <value>' argument missing" },
  { argv: ['pull', '--from', 'a.tar.bz2'], wrong: 'pull takes one id' },
  { argv: ['pull', 'x-asr-480ms', '--form', 'a.tar.bz2'], wrong: "Unknown option '--form'" },
  {
    argv: ['remove', 'x-asr-480ms', '--from', 'a.tar.bz2'],
    wrong: 'remove takes no --from: only pull does',
  },
])('explains itself after $argv', async ({ argv, wrong }) => {
  const { code, stdout, stderr } = await models(argv);
  expect({ code, stdout }).toEqual({ code: 64, stdout: '' });
  expect(stderr.split('\n').slice(0, 3)).toEqual([wrong, '', 'npm run models -- <command>']);
});

test.for([{ argv: ['help'] }, { argv: ['pull', '--help'] }, { argv: ['remove', 'x-asr-480ms', '-h'] }])(
  'says how it is used when $argv asks for that',
  async ({ argv }) => {
    const { code, stdout, stderr } = await models(argv);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^npm run models -- <command>\n/);
  },
);

test.for(['pull', 'remove'])('has nothing to %s of the bundled model', async (command) => {
  expect(await models([command, 'bundled'])).toEqual({
    code: 64,
    stdout: '',
    stderr: `the bundled model comes with the server: there is nothing to ${command}\n`,
  });
});
