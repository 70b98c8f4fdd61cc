"""Character -> toneless syllable, as espeak-ng says the character alone: the second, easier target of the training."""

import re
import subprocess
from concurrent.futures import ThreadPoolExecutor


def _toneless(character: str) -> str:
    command = ["espeak-ng", "-v", "cmn-latn-pinyin", "-q", "--ipa", character]
    ipa = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    return re.sub(r"[0-9ˈˌɜ\s˥˩˧˨˦ɐ]", "", ipa).strip(".")


def syllable_of(characters: list[str]) -> dict[str, str]:
    with ThreadPoolExecutor() as pool:
        return dict(zip(characters, pool.map(_toneless, characters), strict=True))
