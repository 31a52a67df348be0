import { describe, expect, it } from '@jest/globals';
import type { Vehicle } from '../../common/fleet/vehicle.ts';
import { toCsvRows, toImportRows } from './csv-model.ts';

const names = {
  drivers: [{ id: 4, name: 'Asha Nair' }],
  groups: [
    { id: 1, name: 'South' },
    { id: 2, name: 'Kochi' },
  ],
};

describe('a vehicle file', () => {
  it('has numbers as numbers, and drivers and groups by name', () => {
    const rows = [
      ['vehicle_no', 'Year', 'driver', 'groups', 'unknown'],
      ['KL07', '2020', 'asha nair', 'South | Kochi', 'x'],
      ['KL08', '', '', '', ''],
    ];
    expect(toImportRows(rows, names)).toEqual([
      { line: 2, body: { vehicle_no: 'KL07', year: 2020, driver_id: 4, group_ids: [1, 2] } },
      { line: 3, body: { vehicle_no: 'KL08' } },
    ]);
  });

  it('names the line whose driver or group does not exist', () => {
    const rows = [
      ['vehicle_no', 'groups'],
      ['KL07', 'South | North'],
    ];
    expect(toImportRows(rows, names)).toEqual([{ line: 2, fault: { column: 'groups', value: 'South | North' } }]);
  });

  it('is read as it was exported', () => {
    const vehicle = { vehicle_no: 'KL07', name: 'Truck', year: 2020, driver_id: 4, group_ids: [2], make: null };
    const rows = toCsvRows([vehicle as unknown as Vehicle], names);
    expect(toImportRows(rows, names)).toEqual([
      { line: 2, body: { vehicle_no: 'KL07', name: 'Truck', year: 2020, driver_id: 4, group_ids: [2] } },
    ]);
  });
});
