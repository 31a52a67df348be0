import { type VehicleState, vehicleStates } from '../../common/live/protocol.ts';

/** Columns of the table in their order. */
export const columnNames = [
  'state',
  'number',
  'name',
  'type',
  'driver',
  'groups',
  'lastFix',
  'speed',
  'odometer',
  'terminal',
  'model',
] as const;
export type ColumnName = (typeof columnNames)[number];
export const defaultColumns: readonly ColumnName[] = [
  'state',
  'number',
  'name',
  'type',
  'driver',
  'lastFix',
  'odometer',
  'terminal',
];

/** The view in the address. Defaults are absent. */
export interface VehiclesSearch {
  readonly q?: string;
  readonly state?: VehicleState;
  readonly group?: number;
  readonly driver?: number;
  /** A column, with `-` for descending. */
  readonly sort?: string;
  /** Names separated by dots. */
  readonly columns?: string;
}

const isOneOf = <T extends string>(values: readonly T[], value: unknown): value is T =>
  values.some((known) => known === value);

/** Returns the view of an address; values that are not valid are left out. */
export function parseVehiclesSearch(search: Record<string, unknown>): VehiclesSearch {
  const { q, state, sort } = search;
  const [group, driver] = [Number(search['group']), Number(search['driver'])];
  const columns = parseColumns(search['columns']);
  return {
    ...(typeof q === 'string' && q !== '' ? { q } : {}),
    ...(isOneOf(vehicleStates, state) ? { state } : {}),
    ...(Number.isSafeInteger(group) && group > 0 ? { group } : {}),
    ...(Number.isSafeInteger(driver) && driver > 0 ? { driver } : {}),
    ...(typeof sort === 'string' && isOneOf(columnNames, sort.replace(/^-/, '')) ? { sort } : {}),
    ...(columns === undefined ? {} : { columns: columns.join('.') }),
  };
}

/** Returns the known columns of a list such as `state.number`; undefined if there are none. */
export function parseColumns(value: unknown): readonly ColumnName[] | undefined {
  if (typeof value !== 'string') return undefined;
  const chosen = new Set(value.split('.'));
  const known = columnNames.filter((name) => chosen.has(name));
  return known.length === 0 ? undefined : known;
}
