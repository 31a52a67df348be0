/** A queue whose smallest key comes out first. */
export class Heap<T> {
  readonly #items: { readonly key: number; readonly value: T }[] = [];

  push(key: number, value: T): void {
    const items = this.#items;
    let at = items.length;
    items.push({ key, value });
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (this.#key(parent) <= key) break;
      this.#swap(at, parent);
      at = parent;
    }
  }

  pop(): { readonly key: number; readonly value: T } | undefined {
    const items = this.#items;
    const top = items[0];
    const last = items.pop();
    if (top === undefined || last === undefined || items.length === 0) return top;
    items[0] = last;
    for (let at = 0; ; ) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      let least = at;
      if (this.#key(left) < this.#key(least)) least = left;
      if (this.#key(right) < this.#key(least)) least = right;
      if (least === at) return top;
      this.#swap(at, least);
      at = least;
    }
  }

  #key(at: number): number {
    return this.#items[at]?.key ?? Number.POSITIVE_INFINITY;
  }

  #swap(a: number, b: number): void {
    const [one, other] = [this.#items[a], this.#items[b]];
    if (one === undefined || other === undefined) return;
    this.#items[a] = other;
    this.#items[b] = one;
  }
}
