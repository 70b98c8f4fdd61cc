/** What pino puts into every line, shown in front or not at all. */
const SHOWN_IN_FRONT = new Set(['time', 'level', 'process', 'pid', 'msg']);
const LEVELS = new Map([
  [10, 'trace'],
  [20, 'debug'],
  [30, ''],
  [40, 'WARN'],
  [50, 'ERROR'],
  [60, 'FATAL'],
]);

const ERROR_LEVEL = 50;

/** A JSON line of our log as one for a person at a terminal: `12:00:01 api serving address=http://127.0.0.1:8088`. Anything else stays as it is. */
export function plainLogLine(line: string): string {
  const entry = parse(line);
  if (entry === undefined) return line;
  const { time, level, process: name, pid, msg } = entry;
  const clock = typeof time === 'string' ? time.slice(11, 19) : '';
  const rank = typeof level === 'number' ? LEVELS.get(level) : '';
  const fields = Object.entries(entry)
    .filter(([key]) => !SHOWN_IN_FRONT.has(key))
    .map(([key, value]) => `${key}=${typeof value === 'string' ? visible(value) : stackOrJson(value)}`);
  // After an error a person may want to look at that process, or send it a signal, such as SIGHUP once the model is mended.
  const source = typeof level === 'number' && level >= ERROR_LEVEL ? `${name} (process ${pid})` : name;
  return [clock, source, rank, msg, ...fields].filter((part) => part !== undefined && part !== '').join(' ');
}

/** What steers a terminal, as its code: a log says what strangers have sent. */
function visible(text: string): string {
  return text.replace(
    /[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** An error is most useful with its stack, which pino has put into a field. */
function stackOrJson(value: unknown): string {
  if (typeof value === 'object' && value !== null && 'stack' in value && typeof value.stack === 'string')
    return `\n${value.stack.split('\n').map(visible).join('\n')}`;
  return visible(JSON.stringify(value));
}

function parse(line: string): Record<string, unknown> | undefined {
  if (!line.startsWith('{"level":')) return undefined;
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
