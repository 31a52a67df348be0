import type { components } from '@fleet/api-client';
import type { DriverField, DriverForm } from './model.ts';

export type ReadDocument = components['schemas']['ExtractResult'];

/** A field of the form as a document has it. */
export interface ReadField {
  readonly value: string;
  /** 0 to 1. */
  readonly confidence: number;
}

/** Names of a document's fields for each field of the form, the preferred one first. */
const sources: Readonly<Partial<Record<DriverField, readonly string[]>>> = {
  address: ['address'],
  date_of_birth: ['date_of_birth'],
  blood_group: ['blood_group'],
};
/** Fields that only a driving licence has. */
const licenceSources: Readonly<Partial<Record<DriverField, readonly string[]>>> = {
  license_number: ['license_number', 'document_number'],
  license_class: ['classes'],
  license_country: ['country', 'issuing_country'],
  license_issue_date: ['issue_date'],
  license_expiry_date: ['expiry_date'],
};

/** Returns the fields of the form that a document contains. */
export function toReadFields({ document_type: type, fields }: ReadDocument): Partial<Record<DriverField, ReadField>> {
  const wanted = { ...sources, ...(type === 'driver_license' ? licenceSources : {}) };
  const found: Partial<Record<DriverField, ReadField>> = {};
  for (const [field, names] of Object.entries(wanted) as [DriverField, readonly string[]][]) {
    const name = names.find((each) => (fields[each]?.value ?? '') !== '');
    const read = name === undefined ? undefined : fields[name];
    if (read !== undefined) found[field] = { value: read.value, confidence: read.confidence };
  }
  const name = readName(fields);
  return name === undefined ? found : { name, ...found };
}

function readName(fields: ReadDocument['fields']): ReadField | undefined {
  const { name, given_names: given, surname } = fields;
  if (name !== undefined && name.value !== '') return { value: name.value, confidence: name.confidence };
  const parts = [given, surname].filter((part) => part !== undefined && part.value !== '');
  if (parts.length === 0) return undefined;
  return {
    value: parts.map((part) => part?.value).join(' '),
    confidence: Math.min(...parts.map((part) => part?.confidence ?? 0)),
  };
}

/** Returns the form with the fields of a document in place of its own. */
export const applyReadFields = (form: DriverForm, read: Partial<Record<DriverField, ReadField>>): DriverForm => ({
  ...form,
  ...Object.fromEntries(Object.entries(read).map(([field, { value }]) => [field, value])),
});
