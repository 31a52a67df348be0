/** Keywords whose values are examples, not schemas. */
const instanceKeywords = new Set(['const', 'default', 'enum', 'examples']);

/** Returns schemas for the document. */
export class Schemas {
  readonly #components = new Map<string, unknown>();

  /**
   * Returns a schema without keywords that only our validators know (`alias` is part of the description); a named one
   * becomes a reference.
   */
  convert(schema: unknown): unknown {
    if (Array.isArray(schema)) return schema.map((part) => this.convert(part));
    if (typeof schema !== 'object' || schema === null) return schema;
    const { title: name, ...rest } = schema as { title?: unknown };
    const converted: Record<string, unknown> = {};
    for (const [key, part] of Object.entries(rest)) {
      if (key === 'errorMessage' || key === 'alias' || key === 'trim') continue;
      converted[key] =
        key === 'properties' ? this.convertEach(part) : instanceKeywords.has(key) ? part : this.convert(part);
    }
    if (Array.isArray(converted['required']))
      converted['required'] = converted['required'].filter((field) => !hasDefault(rest, field));
    if ('alias' in rest) converted['description'] = withAlias(converted['description'], rest.alias);
    return typeof name === 'string' ? this.#reference(name, converted) : converted;
  }

  /** Applies the same to several schemas by name. */
  convertEach(schemas: unknown): Record<string, unknown> {
    return Object.fromEntries(Object.entries(schemas as object).map(([name, schema]) => [name, this.convert(schema)]));
  }

  #reference(name: string, converted: unknown): unknown {
    const known = this.#components.get(name);
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(converted))
      throw new Error(`Two schemas have the title ${name}`);
    this.#components.set(name, converted);
    return { $ref: `#/components/schemas/${name}` };
  }

  components(): Record<string, unknown> {
    return Object.fromEntries([...this.#components].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }
}

// Fields with a default are optional.
const hasDefault = ({ properties }: { properties?: unknown }, field: unknown): boolean =>
  ((properties ?? {}) as Record<string, { default?: unknown } | undefined>)[String(field)]?.default !== undefined;

const withAlias = (description: unknown, alias: unknown): string =>
  [description, `Also accepted as \`${String(alias)}\`.`].filter((text) => typeof text === 'string').join(' ');
