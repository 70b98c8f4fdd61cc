"""`debian_texts.py`: sentences from the Chinese translations of Debian packages, WORK/debian.txt. Tatoeba's are 26,000, short and alike; these are stories, dialogues and manuals.

Fetches the packages (200 MB) with apt-get and unpacks them in WORK; installs nothing.
"""

import gettext
import gzip
import html
import re
import shutil
import subprocess
from pathlib import Path

from folders import DATA, WORK
from text import characters, tatoeba

FILE = "debian.txt"
# Games (their dialogues and descriptions), then manuals. Licences: see README.
WESNOTH = [f"wesnoth-1.16-{campaign}" for campaign in "data did dm dw ei httt l low nr sof sota sotbe thot trow tsg ttb utbs".split()]
PACKAGES = ["cataclysm-dda-data", *WESNOTH, "libreoffice-help-zh-cn", "manpages-zh", "debian-reference-zh-cn", "debian-faq-zh-cn", "debian-edu-doc-zh-cn", "maint-guide-zh-cn"]
SHORTEST, LONGEST = 3, 20  # characters
MARKS = r"[“”\"‘’'「」『』《》<>（）()\[\]【】\s·*_`^|]"
ENDS = r"[。！？!?；;：:\n\r…]|——|\\n"


def unpacked(package: str, into: Path):
    subprocess.run(["apt-get", "-o", "APT::Sandbox::User=root", "download", package], cwd=into, check=True, stdout=subprocess.DEVNULL)
    for archive in into.glob("*.deb"):
        subprocess.run(["dpkg", "-x", archive, into / package], check=True)
        archive.unlink()


def text_of(file: Path) -> str:
    """Of a catalogue of translations, a page or a manual; nothing of other files."""
    if file.suffix == ".mo":
        with file.open("rb") as catalogue:
            said = gettext.GNUTranslations(catalogue)._catalog.values()
        return "\n".join(s for s in said if isinstance(s, str))
    if not re.search(r"\.(html?|txt|[1-8])(\.gz)?$", file.name):
        return ""
    raw = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    text = raw.decode("utf-8", "ignore")
    if ".htm" in file.name:
        text = re.sub(r"<br */?>|</?(p|li|h\d|td|div|dd|dt)[^>]*>", "\n", text)
        text = html.unescape(re.sub(r"<[^>]*>", "", text))
        text = re.sub(r"(?<=[\u4e00-\u9fff，])\n(?=[\u4e00-\u9fff])", "", text)
    return text


def sentences(text: str):
    """Those of Chinese characters alone, commas kept as pauses; of long ones the parts between commas."""
    for piece in re.split(ENDS, text):
        sentence = re.sub(MARKS, "", piece).replace(",", "，").strip("，、.")
        if not re.fullmatch(r"[\u4e00-\u9fff，、]+", sentence):
            continue
        for part in [sentence] if len(characters(sentence)) <= LONGEST else re.split("[，、]", sentence):
            if SHORTEST <= len(characters(part)) <= LONGEST:
                yield part.strip("，、")


def main():
    own, held_out = tatoeba(DATA / "sentences.txt.gz")
    alphabet = {c for s in (*own, *held_out) for c in characters(s)}
    banned = {characters(s) for s in held_out}
    found: dict[str, None] = {}
    folder = WORK / "debian"
    for package in PACKAGES:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        unpacked(package, folder)
        files = [f for f in sorted(folder.rglob("*")) if f.is_file() and re.search("zh[_-]cn|zh_hans", str(f.relative_to(folder)).lower())]
        said = [s for f in files for s in sentences(text_of(f)) if alphabet.issuperset(characters(s)) and characters(s) not in banned]
        before = len(found)
        found.update(dict.fromkeys(said))
        print(f"{package}: {len(found) - before} sentences", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    (WORK / FILE).write_text("\n".join(found), encoding="utf-8")
    print(f"{len(found)} sentences, {sum(len(characters(s)) for s in found)} characters", flush=True)


if __name__ == "__main__":
    main()
