import { printable } from '../../common/errors/printable.ts';

const LEVELS = new Map<unknown, string>([
  [10, 'trace'],
  [20, 'debug'],
  [40, 'WARN'],
  [50, 'ERROR'],
  [60, 'FATAL'],
]);

/**
 * A JSON line of our log as one for a person at a terminal: `12:00:01 api serving
 * address=http://127.0.0.1:8088`. Anything else stays as it is. pino-pretty lets line ends, C1 codes and
 * marks of direction through, and a log says what strangers have sent.
 */
export function plainLogLine(line: string): string {
  const entry = parse(line);
  if (entry === undefined) return line;
  const { time, level, process: name, pid, msg, ...fields } = entry;
  // After an error a person may want to look at that process, or send it a signal, such as SIGHUP once the
  // model is mended.
  const source = Number(level) >= 50 ? `${name} (process ${pid})` : name;
  const clock = String(time ?? '').slice(11, 19);
  const front = [clock, source, LEVELS.get(level), typeof msg === 'string' && printable(msg)];
  const shown = Object.entries(fields).flatMap(([key, value]) => shownFields(key, value));
  return [...front, ...shown].filter(Boolean).join(' ');
}

/** What an object holds is shown field by field; its id has the object's own name. */
function shownFields(key: string, value: unknown): string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || 'stack' in value)
    return [`${key}=${shownValue(value)}`];
  return Object.entries(value).map(([name, inner]) => `${name === 'id' ? key : name}=${shownValue(inner)}`);
}

/** An error is most useful with its stack, which pino has put into a field. */
function shownValue(value: unknown): string {
  if (typeof value === 'string') return printable(value);
  if (typeof value === 'object' && value !== null && 'stack' in value && typeof value.stack === 'string')
    return `\n${value.stack.split('\n').map(printable).join('\n')}`;
  return printable(JSON.stringify(value));
}

function parse(line: string): Record<string, unknown> | undefined {
  if (!line.startsWith('{"level":')) return undefined;
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
