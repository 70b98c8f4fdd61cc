/** Splits a new snapshot of the text into what the one before said too and the end that is new or rewritten. */
export function splitAtChange(before: string, now: string): [kept: string, changed: string] {
  const old = [...before];
  const characters = [...now];
  let same = 0;
  while (same < characters.length && characters[same] === old[same]) same += 1;
  return [characters.slice(0, same).join(''), characters.slice(same).join('')];
}
