import { validationError } from '@fleet/service-kit';
import { omitUndefined, parsePhoneField, serializeAttributes } from '../../platform/fields.ts';
import type { Change } from '../../store/account-repository.ts';
import type { Driver, DriverBody } from './schema.ts';

/** Defaults for the fields that a request to create a driver omits. */
export const driverDefaults = {
  phoneNumber: null,
  email: null,
  address: null,
  photoUrl: null,
  notes: null,
  licenseNumber: null,
  licenseClass: null,
  licenseCountry: null,
  licenseIssueDate: null,
  licenseExpiryDate: null,
  dateOfBirth: null,
  bloodGroup: null,
  emergencyContact: null,
  cardNumber: null,
  currentVehicleId: null,
  status: 'active',
  attributes: '{}',
} as const satisfies Partial<Driver>;

/**
 * Converts a request body to a change; null clears a field. Throws 400 for a phone number or attributes that the schema
 * cannot check.
 */
export const toDriverChange = (body: DriverBody): Change<Driver> =>
  omitUndefined({
    name: body.name,
    phoneNumber: parseDriverPhone(body.phone_number, '/phone_number'),
    email: body.email,
    address: body.address,
    photoUrl: body.photo_url,
    notes: body.notes,
    licenseNumber: body.license_number,
    licenseClass: body.license_class,
    licenseCountry: body.license_country,
    licenseIssueDate: body.license_issue_date,
    licenseExpiryDate: body.license_expiry_date,
    dateOfBirth: body.date_of_birth,
    bloodGroup: body.blood_group,
    emergencyContact: parseContact(body.emergency_contact),
    cardNumber: body.card_number,
    status: body.status,
    attributes: body.attributes === undefined ? undefined : serializeAttributes(body.attributes),
  });

/** Throws 400 if the dates contradict one another or today's date. `YYYY-MM-DD` strings sort chronologically. */
export function assertDatesValid(
  driver: Partial<Pick<Driver, 'licenseIssueDate' | 'licenseExpiryDate' | 'dateOfBirth'>>,
  now = new Date(),
): void {
  const { licenseIssueDate: issued, licenseExpiryDate: expires, dateOfBirth: born } = driver;
  if (isText(issued) && isText(expires) && expires < issued)
    throw validationError([{ path: '/license_expiry_date', message: 'must not be before license_issue_date' }]);
  if (isText(born) && born > now.toISOString().slice(0, 10))
    throw validationError([{ path: '/date_of_birth', message: 'must not be in the future' }]);
}

const isText = (value: string | null | undefined): value is string => typeof value === 'string';

const parseDriverPhone = (value: string | null | undefined, path: string): string | null | undefined =>
  isText(value) ? parsePhoneField(path, value) : value;

const parseContact = (contact: DriverBody['emergency_contact']): Driver['emergencyContact'] | undefined =>
  contact === null || contact === undefined
    ? contact
    : { name: contact.name, phoneNumber: parsePhoneField('/emergency_contact/phone_number', contact.phone_number) };
