import { find } from '../view/elements.ts';

/** Recordings from files: by the button, or dropped anywhere on the page. */
export function onFilesChosen(chosen: (files: readonly File[]) => void): void {
  const input = find('input#file');
  const cover = find('div#drop');
  const take = (files: FileList | null | undefined): void => {
    if (files?.length) chosen([...files]);
  };
  find('button#choose').onclick = () => input.click();
  input.onchange = () => {
    take(input.files);
    // Emptied, so that choosing the same file once more is a change, too.
    input.value = '';
  };

  const hasFiles = (event: DragEvent): boolean => event.dataTransfer?.types.includes('Files') ?? false;
  document.addEventListener('dragover', (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    cover.hidden = document.body.dataset['state'] !== 'idle';
  });
  document.addEventListener('dragleave', (event) => {
    if (event.relatedTarget === null) cover.hidden = true;
  });
  document.addEventListener('drop', (event) => {
    cover.hidden = true;
    if (!hasFiles(event)) return;
    event.preventDefault();
    take(event.dataTransfer?.files);
  });
}
