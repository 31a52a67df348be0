/** Returns the fields of a body that differ from another one. */
export const changedFields = <Body extends Readonly<Record<string, unknown>>>(from: Body, to: Body): Partial<Body> =>
  Object.fromEntries(
    Object.entries(to).filter(([field, value]) => JSON.stringify(value) !== JSON.stringify(from[field])),
  ) as Partial<Body>;
