/** A text as it is spoken: Chinese characters, and a blank for each other one. */
export interface SpokenForm {
  readonly characters: string;
  /** Of each character, where in the text it is from. Those of a number share one. */
  readonly places: readonly { readonly start: number; readonly end: number }[];
}

const HAN = '\\p{Script=Han}';
const NEIGHBOUR = '[A-Za-z0-9]';
const SIGN = '[.,:/-]';
/** Digits that are no part of a larger sign (3.5, 10:30, 4G), with the blanks that typography takes away. */
const NUMBER = `(?:(?<=${HAN}) +)?(?<!${NEIGHBOUR}${SIGN}?)[0-9]+(?!${SIGN}?${NEIGHBOUR})(?: +(?=${HAN}))?`;
/** Between the parts of a foreign name. */
const MIDDLE_DOT = `(?<=${HAN})[·・‧](?=${HAN})`;
const PARTS = new RegExp(`${NUMBER}|${MIDDLE_DOT}|.`, 'gsu');
const CHINESE = /^[\u4e00-\u9fff]$/;
const DIGITS = '零一二三四五六七八九';
const UNITS = ['', '十', '百', '千'];

export function spokenForm(text: string): SpokenForm {
  const characters: string[] = [];
  const places: { start: number; end: number }[] = [];
  for (const { 0: part, index } of text.matchAll(PARTS)) {
    const place = { start: index, end: index + part.length };
    const digits = part.trim();
    const behind = text.slice(place.end);
    const spoken = /^[0-9]+$/.test(digits) ? numeral(digits, behind) : spokenCharacter(part, behind);
    for (const character of spoken) {
      characters.push(character);
      places.push(place);
    }
  }
  return { characters: characters.join(''), places };
}

function spokenCharacter(character: string, behind: string): string {
  if (/[·・‧]/.test(character)) return '';
  if (character === '两' && /^[百千万亿]/.test(behind)) return '二';
  return CHINESE.test(character) ? character : ' ';
}

/** 29 is 二十九; years, telephone numbers and what begins with 0 are read digit by digit. */
function numeral(digits: string, behind: string): string {
  const isYear = digits.length === 4 && behind.startsWith('年');
  const isLong = digits.length > 8 || (digits.length > 4 && !digits.endsWith('00'));
  if (isYear || isLong || digits.startsWith('0'))
    return Array.from(digits, (digit) => DIGITS[Number(digit)]).join('');
  const [high, low] = [digits.slice(0, -4), digits.slice(-4)];
  if (high === '') return belowTenThousand(low);
  const rest = Number(low) === 0 ? '' : `${low.startsWith('0') ? '零' : ''}${belowTenThousand(low)}`;
  return `${belowTenThousand(high)}万${rest}`;
}

function belowTenThousand(digits: string): string {
  const spoken = Array.from(digits, (digit, i) =>
    digit === '0' ? '零' : `${DIGITS[Number(digit)]}${UNITS[digits.length - 1 - i]}`,
  ).join('');
  return spoken
    .replace(/零+/g, '零')
    .replace(/^零|零$/g, '')
    .replace(/^一十/, '十');
}
