/** A type of a record, in the notation of the reference documents. */
export type ContractType =
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'literal'; readonly value: string | number }
  | { readonly kind: 'nullable' | 'list' | 'map'; readonly of: ContractType }
  | { readonly kind: 'tuple' | 'all'; readonly of: readonly ContractType[] }
  | { readonly kind: 'union'; readonly of: readonly ContractType[] }
  | { readonly kind: 'object'; readonly fields: Readonly<Record<string, ContractType>> };

/** Returns the types of the contract's section "Records", by name. */
export function parseContractTypes(contract: string): Map<string, ContractType> {
  const section = contract.slice(contract.indexOf('\n## 27. Records'));
  const block = /```ts\n([\s\S]*?)```/.exec(section)?.[1] ?? '';
  return new Reader(block.replaceAll(/\/\*.*?\*\//g, '').replaceAll(/\/\/.*$/gm, '')).types();
}

class Reader {
  readonly #tokens: readonly string[];
  #at = 0;

  constructor(text: string) {
    this.#tokens = text.match(/"[^"]*"|\w+|[^\s\w"]/g) ?? [];
  }

  types(): Map<string, ContractType> {
    const types = new Map<string, ContractType>();
    while (this.#at < this.#tokens.length) {
      if (this.#takes(';')) continue;
      const name = this.#next();
      this.#expect('=');
      types.set(name, this.#union());
    }
    return types;
  }

  #next(): string {
    const token = this.#tokens[this.#at];
    if (token === undefined) throw new Error('the records of the contract end in the middle of a type');
    this.#at += 1;
    return token;
  }

  #takes(token: string): boolean {
    if (this.#tokens[this.#at] !== token) return false;
    this.#at += 1;
    return true;
  }

  #expect(token: string): void {
    const found = this.#next();
    if (found !== token) throw new Error(`unexpected ${found} instead of ${token} in the records of the contract`);
  }

  #union(): ContractType {
    return this.#several('|', 'union', () => this.#several('&', 'all', () => this.#suffixed()));
  }

  #several(separator: string, kind: 'union' | 'all', part: () => ContractType): ContractType {
    const first = part();
    const of = [first];
    while (this.#takes(separator)) of.push(part());
    return of.length === 1 ? first : { kind, of };
  }

  #suffixed(): ContractType {
    let type = this.#plain();
    for (;;) {
      if (this.#takes('?')) type = { kind: 'nullable', of: type };
      else if (this.#tokens[this.#at] === '[' && this.#tokens[this.#at + 1] === ']') {
        this.#at += 2;
        type = { kind: 'list', of: type };
      } else return type;
    }
  }

  #plain(): ContractType {
    const token = this.#next();
    if (token === '(') {
      const type = this.#union();
      this.#expect(')');
      return type;
    }
    if (token === '[') return this.#tuple();
    if (token === '{') return this.#object();
    if (token.startsWith('"')) return { kind: 'literal', value: token.slice(1, -1) };
    return /^\d/.test(token) ? { kind: 'literal', value: Number(token) } : { kind: 'name', name: token };
  }

  #tuple(): ContractType {
    const of = [this.#union()];
    while (this.#takes(',')) of.push(this.#union());
    this.#expect(']');
    return { kind: 'tuple', of };
  }

  #object(): ContractType {
    const fields: Record<string, ContractType> = {};
    while (!this.#takes('}')) {
      if (this.#takes('[')) {
        while (!this.#takes(']')) this.#next();
        this.#expect(':');
        const of = this.#union();
        this.#expect('}');
        return { kind: 'map', of };
      }
      const name = this.#next();
      this.#expect(':');
      fields[name] = this.#union();
      this.#takes(',');
    }
    return { kind: 'object', fields };
  }
}
