import type { Driver } from '../../common/fleet/vehicle.ts';

/** Texts of the form in their order; each is a field of the record. */
export const contactFields = ['name', 'phone_number', 'email', 'address'] as const;
export const licenceFields = [
  'license_number',
  'license_class',
  'license_country',
  'license_issue_date',
  'license_expiry_date',
] as const;
export const personFields = ['date_of_birth', 'blood_group', 'card_number', 'notes'] as const;
export const dateFields: ReadonlySet<string> = new Set(['license_issue_date', 'license_expiry_date', 'date_of_birth']);

type RecordField = (typeof contactFields)[number] | (typeof licenceFields)[number] | (typeof personFields)[number];

/** A driver as the form edits it: an empty text is an absent value. */
export type DriverForm = Readonly<Record<RecordField | 'status' | 'emergency_name' | 'emergency_phone', string>>;
export type DriverField = keyof DriverForm;

const recordFields: readonly RecordField[] = [...contactFields, ...licenceFields, ...personFields];

export const emptyForm: DriverForm = {
  name: '',
  phone_number: '',
  email: '',
  address: '',
  license_number: '',
  license_class: '',
  license_country: '',
  license_issue_date: '',
  license_expiry_date: '',
  date_of_birth: '',
  blood_group: '',
  card_number: '',
  notes: '',
  status: 'active',
  emergency_name: '',
  emergency_phone: '',
};

export const toForm = (driver: Driver): DriverForm => ({
  ...emptyForm,
  ...Object.fromEntries(recordFields.map((field) => [field, driver[field] ?? ''])),
  status: driver.status,
  emergency_name: driver.emergency_contact?.name ?? '',
  emergency_phone: driver.emergency_contact?.phone_number ?? '',
});

/** Returns the names of the fields that differ. */
export const findChangedFields = (from: DriverForm, to: DriverForm): readonly DriverField[] =>
  (Object.keys(from) as DriverField[]).filter((field) => from[field].trim() !== to[field].trim());

/** Returns the body that changes only the fields that differ. The name has no absent value. */
export function toChange(from: DriverForm, to: DriverForm): Readonly<Record<string, unknown>> {
  const body: Record<string, unknown> = {};
  for (const field of findChangedFields(from, to)) {
    const text = to[field].trim();
    if (field === 'emergency_name' || field === 'emergency_phone') body['emergency_contact'] = toContact(to);
    else body[field] = text === '' && field !== 'name' ? null : text;
  }
  return body;
}

function toContact({ emergency_name: name, emergency_phone: phone }: DriverForm): unknown {
  return `${name}${phone}`.trim() === '' ? null : { name: name.trim(), phone_number: phone.trim() };
}

/** Returns the field of the form for a field of a request body. */
export const toFormErrors = (errors: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(errors).map(([field, text]) => [field === 'emergency_contact' ? 'emergency_phone' : field, text]),
  );

const dayMs = 86_400_000;
/** Days before its end in which a licence is marked. */
const warningDays = 30;

/** Returns the days until the licence ends, negative afterwards; null without a date. */
export function findLicenceDays({ license_expiry_date: date }: Driver, nowMs: number): number | null {
  if (date === null) return null;
  return Math.round((Date.parse(date) - Date.parse(new Date(nowMs).toISOString().slice(0, 10))) / dayMs);
}

/** Returns how a licence is marked. */
export function toLicenceState(days: number | null): 'unknown' | 'valid' | 'ending' | 'ended' {
  if (days === null) return 'unknown';
  if (days < 0) return 'ended';
  return days <= warningDays ? 'ending' : 'valid';
}
