import { paginationQuery, sortParameter } from '@fleet/service-kit';
import { type Static, Type } from 'typebox';
import {
  attributes,
  email,
  idList,
  nullableField,
  phone,
  searchText,
  stringEnum,
  trimmedText,
} from '../../platform/fields.ts';
import { date, nullable, recordId, recordProperties } from '../../platform/schemas.ts';
import type { AccountRecord } from '../../store/account-repository.ts';

const driverStatuses = ['active', 'inactive'] as const;

interface EmergencyContact {
  readonly name: string;
  readonly phoneNumber: string;
}

/** A driver as stored. The vehicle records hold the assignments (`vehicles/assignments.ts`). */
export interface Driver extends AccountRecord {
  readonly name: string;
  /** E.164. */
  readonly phoneNumber: string | null;
  readonly email: string | null;
  readonly address: string | null;
  readonly photoUrl: string | null;
  readonly notes: string | null;
  readonly licenseNumber: string | null;
  readonly licenseClass: string | null;
  readonly licenseCountry: string | null;
  /** `YYYY-MM-DD`, like the other dates. */
  readonly licenseIssueDate: string | null;
  readonly licenseExpiryDate: string | null;
  readonly dateOfBirth: string | null;
  readonly bloodGroup: string | null;
  readonly emergencyContact: EmergencyContact | null;
  /** The card number that the terminal reports in 0x0702, or the number of an RFID tag. */
  readonly cardNumber: string | null;
  /** The vehicle in which the driver's card is inserted; maintained by the driver sessions. */
  readonly currentVehicleId: number | null;
  readonly status: (typeof driverStatuses)[number];
  /** JSON. */
  readonly attributes: string;
}

const emergencyContact = Type.Object({ name: trimmedText(1, 100), phone_number: phone });
const bloodGroup = Type.String({
  pattern: '^(A|B|AB|O)[+-]$',
  errorMessage: 'must be a blood group such as AB-',
  examples: ['AB-'],
});
const isAddress = 'must be a URL that begins with http:// or https://';
const webAddress = Type.String({
  format: 'uri',
  pattern: '^https?://',
  maxLength: 2048,
  errorMessage: { format: isAddress, pattern: isAddress },
});

const details = {
  phone_number: Type.Optional(nullableField(phone)),
  email: Type.Optional(nullableField(email)),
  address: Type.Optional(nullableField(trimmedText(0, 500))),
  photo_url: Type.Optional(nullableField(webAddress)),
  notes: Type.Optional(nullableField(trimmedText(0, 2000))),
  license_number: Type.Optional(nullableField(trimmedText(1, 60, { description: 'Unique in the account.' }))),
  license_class: Type.Optional(nullableField(trimmedText(1, 40))),
  license_country: Type.Optional(nullableField(trimmedText(1, 60))),
  license_issue_date: Type.Optional(nullableField(date)),
  license_expiry_date: Type.Optional(nullableField(date)),
  date_of_birth: Type.Optional(nullableField(date)),
  blood_group: Type.Optional(nullableField(bloodGroup)),
  emergency_contact: Type.Optional(nullableField(emergencyContact)),
  card_number: Type.Optional(
    nullableField(
      trimmedText(1, 60, { description: 'As reported by the terminal (0x0702, RFID). Unique in the account.' }),
    ),
  ),
  vehicle_ids: Type.Optional(idList(1_000)),
  status: Type.Optional(stringEnum(driverStatuses)),
  attributes: Type.Optional(attributes),
};
const name = trimmedText(1, 100);

export const createDriverBody = Type.Object({ name, ...details });
export const updateDriverBody = Type.Object({ name: Type.Optional(name), ...details });
export type DriverBody = Static<typeof updateDriverBody>;

const sortable = ['id', 'name', 'license_expiry_date', 'created_at', 'updated_at'] as const;

export const listDriversQuery = Type.Object({
  ...paginationQuery,
  sort: sortParameter(sortable),
  query: searchText('name, phone, license or card number'),
  status: Type.Optional(stringEnum(driverStatuses)),
  vehicle_id: Type.Optional(recordId),
});
export type ListDriversQuery = Static<typeof listDriversQuery>;

const nullableText = nullable(Type.String());
const nullableDate = nullable(date);

export const driverResponse = Type.Object(
  {
    ...recordProperties,
    name: Type.String(),
    phone_number: nullableText,
    email: nullableText,
    address: nullableText,
    photo_url: nullableText,
    notes: nullableText,
    license_number: nullableText,
    license_class: nullableText,
    license_country: nullableText,
    license_issue_date: nullableDate,
    license_expiry_date: nullableDate,
    date_of_birth: nullableDate,
    blood_group: nullableText,
    emergency_contact: nullable(Type.Object({ name: Type.String(), phone_number: Type.String() })),
    card_number: nullableText,
    vehicle_ids: Type.Array(recordId),
    current_vehicle_id: nullable(recordId),
    status: stringEnum(driverStatuses),
    attributes,
  },
  { title: 'Driver' },
);
export type DriverResponse = Static<typeof driverResponse>;
