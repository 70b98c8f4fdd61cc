/** Kept for this page on this device, or for this tab alone and gone with it. */
type Storage = 'localStorage' | 'sessionStorage';

/** What the browser keeps under this name. A browser that keeps nothing for pages (site data blocked) refuses even to look. */
export function kept(where: Storage, name: string): string | undefined {
  try {
    return window[where].getItem(name) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Keeps a value; with '' nothing is kept any more. If the browser refuses, the value lasts until the page is loaded again. */
export function keep(where: Storage, name: string, value: string): void {
  try {
    if (value === '') window[where].removeItem(name);
    else window[where].setItem(name, value);
  } catch {
    // As above.
  }
}
