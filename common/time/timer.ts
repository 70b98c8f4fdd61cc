/**
 * Calls `giveUp` after `ms` without an answer. Node looks at timers before sockets, so `giveUp` waits for one more look
 * at the sockets, and one turn more, in which the WebSocket layer hands over what it has read. If this process itself
 * stood still, the answers that came meanwhile are read first.
 * @returns what to call when the answer is there
 */
export function afterSilence(ms: number, giveUp: () => void): () => void {
  let late: NodeJS.Immediate | undefined;
  const timer = setTimeout(() => {
    late = setImmediate(() => {
      late = setImmediate(giveUp);
    });
  }, ms);
  return () => {
    clearTimeout(timer);
    clearImmediate(late);
  };
}
