import type { Driver } from '../../common/fleet/vehicle.ts';
import type { DriversSearch } from './search.ts';

const normalize = (text: string): string => text.toLowerCase().replaceAll(/[\s-]/g, '');

/** Returns the drivers that match the filters: a part of name, phone, licence or card number. */
export function findDrivers(drivers: readonly Driver[], { q = '', status }: DriversSearch): readonly Driver[] {
  const wanted = normalize(q);
  return drivers.filter((driver) => {
    const texts = [driver.name, driver.phone_number, driver.license_number, driver.card_number];
    const matches = wanted === '' || texts.some((text) => text !== null && normalize(text).includes(wanted));
    return matches && (status === undefined || driver.status === status);
  });
}

const csvFields = [
  'name',
  'phone_number',
  'email',
  'status',
  'license_number',
  'license_class',
  'license_country',
  'license_issue_date',
  'license_expiry_date',
  'card_number',
] as const satisfies readonly (keyof Driver)[];

/** Returns the rows of an export, with the names of the columns first. */
export function toCsvRows(drivers: readonly Driver[], vehicleNumbers: ReadonlyMap<number, string>): string[][] {
  const rows = drivers.map((driver) => [
    ...csvFields.map((field) => driver[field] ?? ''),
    driver.vehicle_ids.flatMap((id) => vehicleNumbers.get(id) ?? []).join(' | '),
  ]);
  return [[...csvFields, 'vehicles'], ...rows];
}
