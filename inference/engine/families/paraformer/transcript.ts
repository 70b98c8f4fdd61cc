import { isSpecialSymbol, type TokenTable } from '../../text/tokens.ts';

/** Behind a piece of a Latin word that goes on with the next one. */
const GOES_ON = '@@';

/**
 * The text of Paraformer's tokens: Chinese characters stand together, Latin words alone. As in sherpa-onnx, except
 * that `<s>`, `</s>` and `<unk>` are no words.
 */
export class ParaformerTranscript {
  readonly #tokens: TokenTable;

  constructor(tokens: TokenTable) {
    this.#tokens = tokens;
  }

  text(tokenIds: readonly number[]): string {
    let text = '';
    let goesOn = false;
    let followsLatin = false;
    for (const id of tokenIds) {
      const symbol = this.#tokens.symbol(id);
      if (isSpecialSymbol(symbol)) continue;
      const isLatin = symbol < '\u0080';
      const isPart = symbol.endsWith(GOES_ON);
      if (isLatin ? !goesOn : followsLatin) text += ' ';
      text += isPart ? symbol.slice(0, -GOES_ON.length) : symbol;
      goesOn = isPart;
      followsLatin = isLatin;
    }
    return text.trimStart();
  }
}
