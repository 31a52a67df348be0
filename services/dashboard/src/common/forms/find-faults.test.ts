import { describe, expect, it } from '@jest/globals';
import { findFaults } from './find-faults.ts';

describe('the faults of a form', () => {
  it('are none for a body that the API accepts', () => {
    expect(findFaults('updateVehicle', { name: 'Truck 12', imei: null, year: 2024, group_ids: [3] })).toEqual({});
  });

  it('name the broken rule of each field and its limit', () => {
    const body = { imei: '123', year: 1800, name: 'x'.repeat(101), tank_capacity_l: 'much', vehicle_type: 'boat' };
    expect(findFaults('updateVehicle', body)).toEqual({
      imei: { rule: 'pattern', limit: '' },
      year: { rule: 'minimum', limit: '1900' },
      name: { rule: 'maxLength', limit: '100' },
      tank_capacity_l: { rule: 'type', limit: '' },
      vehicle_type: { rule: 'enum', limit: '' },
    });
  });

  it('belong to the top-level field of a nested value', () => {
    expect(findFaults('updateVehicle', { channels: [{ channel_id: 99 }] })).toEqual({
      channels: { rule: 'maximum', limit: '37' },
    });
  });

  it('include required fields that are absent', () => {
    expect(findFaults('createVehicle', { name: 'Truck 12' })).toEqual({ vehicle_no: { rule: 'required', limit: '' } });
  });
});
