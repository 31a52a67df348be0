/** The view of the drivers' table in the address. Defaults are absent. */
export interface DriversSearch {
  readonly q?: string;
  readonly status?: 'active' | 'inactive';
  /** A column, with `-` for descending. */
  readonly sort?: string;
}

/** Returns the view of an address; values that are not valid are left out. */
export function parseDriversSearch({ q, status, sort }: Record<string, unknown>): DriversSearch {
  return {
    ...(typeof q === 'string' && q !== '' ? { q } : typeof q === 'number' ? { q: String(q) } : {}),
    ...(status === 'active' || status === 'inactive' ? { status } : {}),
    ...(typeof sort === 'string' && /^-?[a-z]+$/.test(sort) ? { sort } : {}),
  };
}
