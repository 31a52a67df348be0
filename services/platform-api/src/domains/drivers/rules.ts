import { invalid } from '@fleet/service-kit';
import { given, phoneAt, storedAttributes } from '../../fields.ts';
import type { Change } from '../../store/account-records.ts';
import type { Driver, DriverBody } from './schema.ts';

/** The fields of a new driver that its maker does not give. */
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

/** What a body changes; null clears a field. Throws 400 for a phone number or free data that no schema tells. */
export const driverChange = (body: DriverBody): Change<Driver> =>
  given({
    name: body.name,
    phoneNumber: phoneOf(body.phone_number, '/phone_number'),
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
    emergencyContact: contactOf(body.emergency_contact),
    cardNumber: body.card_number,
    status: body.status,
    attributes: body.attributes === undefined ? undefined : storedAttributes(body.attributes),
  });

/** Dates that contradict one another, or today. Text of this form sorts as time does. */
export function checkDates(
  driver: Partial<Pick<Driver, 'licenseIssueDate' | 'licenseExpiryDate' | 'dateOfBirth'>>,
  now = new Date(),
): void {
  const { licenseIssueDate: issued, licenseExpiryDate: expires, dateOfBirth: born } = driver;
  if (isText(issued) && isText(expires) && expires < issued)
    throw invalid([{ path: '/license_expiry_date', message: 'must not be before license_issue_date' }]);
  if (isText(born) && born > now.toISOString().slice(0, 10))
    throw invalid([{ path: '/date_of_birth', message: 'must not be in the future' }]);
}

const isText = (value: string | null | undefined): value is string => typeof value === 'string';

const phoneOf = (value: string | null | undefined, path: string): string | null | undefined =>
  isText(value) ? phoneAt(path, value) : value;

const contactOf = (contact: DriverBody['emergency_contact']): Driver['emergencyContact'] | undefined =>
  contact === null || contact === undefined
    ? contact
    : { name: contact.name, phoneNumber: phoneAt('/emergency_contact/phone_number', contact.phone_number) };
