import type { Driver, Group, Vehicle } from '../../common/fleet/vehicle.ts';

const textColumns = [
  'vehicle_no',
  'name',
  'imei',
  'vehicle_type',
  'make',
  'model',
  'color',
  'vin',
  'fuel_type',
  'timezone',
  'camera_utc_offset',
] as const;
const numberColumns = ['year', 'tank_capacity_l', 'speed_limit_kmh', 'odometer_km'] as const;
const numberNames: ReadonlySet<string> = new Set(numberColumns);

/** Columns of the file, for import and export. Drivers and groups have their names. */
export const csvColumns = [...textColumns, ...numberColumns, 'driver', 'groups'] as const;

/** Drivers and groups by name, which a file has instead of ids. */
export interface Names {
  readonly drivers: readonly Pick<Driver, 'id' | 'name'>[];
  readonly groups: readonly Pick<Group, 'id' | 'name'>[];
}

const groupSeparator = ' | ';

/** Returns the rows of an export, with the names of the columns first. */
export function toCsvRows(vehicles: readonly Vehicle[], { drivers, groups }: Names): string[][] {
  const driverNames = new Map(drivers.map(({ id, name }) => [id, name]));
  const groupNames = new Map(groups.map(({ id, name }) => [id, name]));
  const rows = vehicles.map((vehicle) => [
    ...[...textColumns, ...numberColumns].map((column) => String(vehicle[column] ?? '')),
    driverNames.get(vehicle.driver_id ?? 0) ?? '',
    vehicle.group_ids.flatMap((id) => groupNames.get(id) ?? []).join(groupSeparator),
  ]);
  return [[...csvColumns], ...rows];
}

/** A row for the API with its line in the file, or the fault of the line. */
export type ImportRow =
  | { readonly line: number; readonly body: Readonly<Record<string, unknown>> }
  | { readonly line: number; readonly fault: { readonly column: string; readonly value: string } };

/** Returns the rows of a file whose first line names the columns. Empty cells change nothing; unknown columns are ignored. */
export function toImportRows([header = [], ...lines]: readonly (readonly string[])[], names: Names): ImportRow[] {
  const columns = header.map((name) => name.trim().toLowerCase());
  return lines.map((cells, index) => {
    const line = index + 2;
    const body: Record<string, unknown> = {};
    for (const [at, column] of columns.entries()) {
      const value = (cells[at] ?? '').trim();
      if (value === '') continue;
      const fields = readCell(column, value, names);
      if (fields === undefined) return { line, fault: { column, value } };
      Object.assign(body, fields);
    }
    return { line, body };
  });
}

/** Returns the fields of a cell; undefined if no driver or group has the name. */
function readCell(column: string, value: string, names: Names): Record<string, unknown> | undefined {
  const findId = (items: readonly { id: number; name: string }[], name: string): number | undefined =>
    items.find((item) => item.name.toLowerCase() === name.trim().toLowerCase())?.id;
  if (column === 'driver') {
    const id = findId(names.drivers, value);
    return id === undefined ? undefined : { driver_id: id };
  }
  if (column === 'groups') {
    const ids = value.split('|').map((name) => findId(names.groups, name));
    return ids.includes(undefined) ? undefined : { group_ids: ids };
  }
  if (numberNames.has(column)) return { [column]: Number.isFinite(Number(value)) ? Number(value) : value };
  return textColumns.some((name) => name === column) ? { [column]: value } : {};
}
