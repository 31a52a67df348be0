import { describe, expect, it } from '@jest/globals';
import { findChangedFields, toChange, type VehicleForm } from './model.ts';

const stored: VehicleForm = {
  vehicle_no: 'KL07CD1234',
  name: 'Truck 12',
  imei: '013800138777',
  make: '',
  model: '',
  color: '',
  vin: '',
  year: '2020',
  tank_capacity_l: '',
  speed_limit_kmh: '80',
  odometer_km: '20412.5',
  vehicle_type: 'truck',
  fuel_type: '',
  timezone: 'Asia/Kolkata',
  camera_utc_offset: '+08:00',
  driver_id: '4',
  group_ids: [1, 2],
  channels: [{ channel_id: 1, name: 'Front', enabled: true, has_audio: false }],
};

describe('the record form of a vehicle', () => {
  it('sends nothing without a change', () => {
    expect(toChange(stored, { ...stored })).toEqual({});
  });

  it('sends only changed fields, numbers as numbers and empty texts as null', () => {
    const edited = { ...stored, year: '2021', speed_limit_kmh: '', driver_id: '', make: ' Tata ', group_ids: [2] };
    expect(toChange(stored, edited)).toEqual({
      year: 2021,
      speed_limit_kmh: null,
      driver_id: null,
      make: 'Tata',
      group_ids: [2],
    });
  });

  it('sends a text that is no number as it is, so that it is refused', () => {
    expect(toChange(stored, { ...stored, year: 'old' })).toEqual({ year: 'old' });
  });

  it('finds the changed camera', () => {
    const channels = [{ channel_id: 1, name: 'Road', enabled: true, has_audio: false }];
    expect(findChangedFields(stored, { ...stored, channels })).toEqual(['channels']);
  });
});
