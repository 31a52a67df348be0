/** Returns text without accents, case and punctuation. */
const plainText = (text: string): string =>
  text
    .normalize('NFD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();

/**
 * Returns the trigrams of a text, with words padded as in PostgreSQL's pg_trgm. With `isOpen` the last word may be
 * incomplete.
 */
export function trigramsOf(text: string, isOpen = false): Set<string> {
  const found = new Set<string>();
  const words = plainText(text)
    .split(' ')
    .filter((word) => word !== '');
  for (const [at, word] of words.entries()) {
    const padded = `  ${word}${isOpen && at === words.length - 1 ? '' : ' '}`;
    for (let from = 0; from + 3 <= padded.length; from += 1) found.add(padded.slice(from, from + 3));
  }
  return found;
}

/** A matching text. */
interface Hit {
  /** Index in the list of texts. */
  readonly at: number;
  /** Share of the query that the text contains, 0 to 1. */
  readonly contained: number;
}

/** Finds texts by trigrams, with a list of texts for each trigram. */
export class TrigramIndex {
  readonly #lists = new Map<string, number[]>();

  constructor(texts: Iterable<string>) {
    let at = 0;
    for (const text of texts) {
      for (const trigram of trigramsOf(text)) {
        const list = this.#lists.get(trigram);
        if (list === undefined) this.#lists.set(trigram, [at]);
        else list.push(at);
      }
      at += 1;
    }
  }

  /** Returns the texts that contain at least the given share of the query's trigrams, in no particular order. */
  search(query: string, options: { readonly isOpen: boolean; readonly atLeast: number }): Hit[] {
    const wanted = trigramsOf(query, options.isOpen);
    const counts = new Map<number, number>();
    for (const trigram of wanted)
      for (const at of this.#lists.get(trigram) ?? []) counts.set(at, (counts.get(at) ?? 0) + 1);
    const needed = Math.max(1, options.atLeast * wanted.size);
    const hits: Hit[] = [];
    for (const [at, count] of counts) if (count >= needed) hits.push({ at, contained: count / wanted.size });
    return hits;
  }
}

/** Returns the similarity of two texts: common trigrams divided by all, 0 to 1. */
export function similarity(a: string, b: string): number {
  const [left, right] = [trigramsOf(a), trigramsOf(b)];
  let common = 0;
  for (const trigram of left) if (right.has(trigram)) common += 1;
  const all = left.size + right.size - common;
  return all === 0 ? 0 : common / all;
}
