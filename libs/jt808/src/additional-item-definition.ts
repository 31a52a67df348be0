import type { Fields } from './fields/index.ts';

/** Definition of an item of JT/T 808 table 27, JT/T 1078 or T/JSATL 12 as a table of fields. */
export interface AdditionalItemDefinition<F extends Fields = Fields> {
  readonly id: number;
  readonly name: string;
  readonly reference: string;
  /** Lengths with this meaning. Vendors reuse the ids with other lengths. */
  readonly lengths: readonly number[] | ((length: number) => boolean);
  readonly fields: F;
}

/** Returns the definition, with the types of its fields. */
export function defineAdditionalItem<F extends Fields>(
  definition: AdditionalItemDefinition<F>,
): AdditionalItemDefinition<F> {
  return definition;
}
