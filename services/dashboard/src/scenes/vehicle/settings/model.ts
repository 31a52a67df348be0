import type { Vehicle } from '../../../common/fleet/vehicle.ts';

/** Fields of the record in the order of the form. */
export const textFields = ['vehicle_no', 'name', 'imei', 'make', 'model', 'color', 'vin'] as const;
export const numberFields = ['year', 'tank_capacity_l', 'speed_limit_kmh', 'odometer_km'] as const;
export const vehicleTypes = [
  'car',
  'truck',
  'bus',
  'van',
  'motorcycle',
  'tanker',
  'trailer',
  'mining_truck',
  'excavator',
  'other',
] as const satisfies readonly Vehicle['vehicle_type'][];
export const fuelTypes = [
  'petrol',
  'diesel',
  'cng',
  'lpg',
  'electric',
  'hybrid',
  'other',
] as const satisfies readonly Vehicle['fuel_type'][];

type TextField =
  | (typeof textFields)[number]
  | (typeof numberFields)[number]
  | 'vehicle_type'
  | 'fuel_type'
  | 'timezone'
  | 'camera_utc_offset'
  | 'driver_id';
type Channel = Vehicle['channels'][number];

/** The record as the form edits it: an empty text is an absent value. */
export type VehicleForm = Readonly<Record<TextField, string>> & {
  readonly group_ids: readonly number[];
  readonly channels: readonly Channel[];
};

export type VehicleField = keyof VehicleForm;

export const toForm = (vehicle: Vehicle): VehicleForm => {
  const toText = (value: string | number | null): string => (value === null ? '' : String(value));
  return {
    vehicle_no: vehicle.vehicle_no,
    name: vehicle.name,
    imei: toText(vehicle.imei),
    make: toText(vehicle.make),
    model: toText(vehicle.model),
    color: toText(vehicle.color),
    vin: toText(vehicle.vin),
    year: toText(vehicle.year),
    tank_capacity_l: toText(vehicle.tank_capacity_l),
    speed_limit_kmh: toText(vehicle.speed_limit_kmh),
    odometer_km: toText(vehicle.odometer_km),
    vehicle_type: vehicle.vehicle_type,
    fuel_type: toText(vehicle.fuel_type),
    timezone: vehicle.timezone,
    camera_utc_offset: vehicle.camera_utc_offset,
    driver_id: toText(vehicle.driver_id),
    group_ids: vehicle.group_ids,
    channels: vehicle.channels,
  };
};

const isEqual = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** Returns the names of the fields that differ. */
export const findChangedFields = (from: VehicleForm, to: VehicleForm): readonly VehicleField[] =>
  (Object.keys(from) as VehicleField[]).filter((field) => !isEqual(from[field], to[field]));

const numericFields: ReadonlySet<VehicleField> = new Set([...numberFields, 'driver_id']);
/** Fields without an absent value. */
const requiredFields: ReadonlySet<VehicleField> = new Set(['vehicle_no', 'odometer_km']);

/** Returns the body that changes only the fields that differ. A text that is no number stays a text, which is refused. */
export function toChange(from: VehicleForm, to: VehicleForm): Readonly<Record<string, unknown>> {
  const toValue = (field: VehicleField): unknown => {
    const value = to[field];
    if (typeof value !== 'string') return value;
    const text = value.trim();
    if (text === '') return requiredFields.has(field) ? text : null;
    return numericFields.has(field) && Number.isFinite(Number(text)) ? Number(text) : text;
  };
  return Object.fromEntries(findChangedFields(from, to).map((field) => [field, toValue(field)]));
}
