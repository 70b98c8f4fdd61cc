/** The element of index.html with this tag and id. @throws Error when the page and its script do not belong together. */
export function find<K extends keyof HTMLElementTagNameMap>(
  name: `${K}#${string}`,
): HTMLElementTagNameMap[K] {
  const element = document.querySelector<HTMLElementTagNameMap[K]>(name);
  if (element === null) throw new Error(`index.html has no ${name}`);
  return element;
}

/** A new element; children are elements or text, never markup. */
export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Readonly<Record<string, string>>,
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export function button(label: string, press: () => void): HTMLButtonElement {
  const element = make('button', { type: 'button', class: 'quiet' }, label);
  element.onclick = press;
  return element;
}
