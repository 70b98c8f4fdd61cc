import { join } from 'node:path';
import { CATALOGUE } from '../../models/catalogue.ts';
import { BUNDLED } from '../../models/model-card.ts';

export interface Service {
  /** Where it is reached from this machine. */
  readonly origin: string;
  readonly token: string;
  /** What people open in their browsers. */
  readonly page: string;
  /** False if the operator gave the token: he knows it, and it is printed nowhere. */
  readonly tokenIsNew: boolean;
  /** The file that it came from, which no other shell has read; undefined: the environment. */
  readonly tokenFile: string | undefined;
  /** As `ASR_MODEL` names it. */
  readonly model: string;
  /**
   * The environment sends curl to a proxy, which does not reach this machine by its loopback address, and
   * would be given the token.
   */
  readonly behindProxy: boolean;
}

const TRIAL_RECORDING = 'test/fixtures/real-speech/BAC009S0150W0409.wav';

/**
 * What a newcomer needs next, as lines for the screen. The curl line can be pasted into any shell in any
 * folder of this machine.
 * @param inTerminal marks the address, the token and the curl line
 */
export function announcement(service: Service, projectFolder: string, inTerminal = false): string {
  const { origin, page, token, tokenIsNew, tokenFile, model, behindProxy } = service;
  const recording = join(projectFolder, TRIAL_RECORDING);
  // Inside curl's own quotes a comma or semicolon of the path means nothing.
  const form = `file=@"${recording.replace(/["\\]/g, '\\$&')}"`;
  const header = tokenIsNew
    ? shellQuoted(`Authorization: Bearer ${token}`)
    : '"Authorization: Bearer $ASR_API_TOKEN"';
  // zsh takes the brackets of an IPv6 address for a pattern.
  const url = shellQuoted(`${origin}/v1/audio/transcriptions`);
  const marked = (text: string): string => (inTerminal ? `\x1b[1m${text}\x1b[22m` : text);
  const read = tokenFile === undefined ? '' : `. ${shellQuoted(tokenFile)} && `;
  const curl = `${read}${behindProxy ? "curl --noproxy '*'" : 'curl'}`;
  const known = `the one in ${tokenFile ?? 'ASR_API_TOKEN'}`;
  return [
    '',
    `  page     ${marked(page)}`,
    `  token    ${tokenIsNew ? `${marked(token)}   (a new one at every start; to keep one, set ASR_API_TOKEN)` : known}`,
    `  try it   ${marked(`${curl} -H ${header} -F ${shellQuoted(form)} ${url}`)}`,
    `  model    ${model === BUNDLED.id ? bundled() : model}`,
    '',
    'Ctrl-C stops everything.',
  ].join('\n');
}

/** Whoever speaks into the page shall not take what this model hears for the best that the service can do. */
function bundled(): string {
  const { name, licence, characterErrorRates } = BUNDLED;
  const rates = characterErrorRates.map(
    (rate) => `${rate.percent} % of the characters wrong on ${rate.testSet}`,
  );
  const better = CATALOGUE.find(({ recommended }) => recommended)?.id;
  return `bundled (${name}, ${licence?.name}): ${rates.join(', ')}. A better one: npm run models -- pull ${better} && ASR_MODEL=${better} npm start`;
}

function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
