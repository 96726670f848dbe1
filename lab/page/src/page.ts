/** What all parts of the page use. */

/** Return the element of a selector, which is there. */
export const $ = <T extends Element = HTMLElement>(selector: string): T => document.querySelector<T>(selector)!;

export const number = (value: number): string => value.toLocaleString("en");
