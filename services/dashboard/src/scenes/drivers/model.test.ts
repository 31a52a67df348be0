import { describe, expect, it } from '@jest/globals';
import type { Driver } from '../../common/fleet/vehicle.ts';
import { emptyForm, findLicenceDays, toChange, toForm, toLicenceState } from './model.ts';
import { applyReadFields, type ReadDocument, toReadFields } from './reading.ts';

const driver = {
  name: 'Asha Nair',
  phone_number: '+919812345678',
  license_number: 'KA01',
  license_expiry_date: '2027-01-31',
  emergency_contact: { name: 'Ravi', phone_number: '+919800000000' },
  status: 'active',
} as Driver;

describe('the form of a driver', () => {
  it('sends only what was changed, and null for a text that was cleared', () => {
    const form = toForm(driver);
    expect(toChange(form, form)).toEqual({});
    expect(toChange(form, { ...form, name: ' Asha N. ', license_number: '' })).toEqual({
      name: 'Asha N.',
      license_number: null,
    });
  });

  it('sends both parts of the emergency contact, or null without any', () => {
    const form = toForm(driver);
    expect(toChange(form, { ...form, emergency_name: 'Mira' })).toEqual({
      emergency_contact: { name: 'Mira', phone_number: '+919800000000' },
    });
    expect(toChange(form, { ...form, emergency_name: '', emergency_phone: '' })).toEqual({ emergency_contact: null });
  });

  it('sends an empty name, which the server refuses', () => {
    const form = toForm(driver);
    expect(toChange(form, { ...form, name: '' })).toEqual({ name: '' });
  });
});

describe('the end of a licence', () => {
  it.each([
    ['2027-03-15', 'valid'],
    ['2027-01-31', 'ending'],
    ['2027-01-20', 'ending'],
    ['2027-01-19', 'ended'],
  ])('on %s is %s on 20 January', (date, state) => {
    const days = findLicenceDays({ ...driver, license_expiry_date: date }, Date.parse('2027-01-20T23:30:00Z'));
    expect(toLicenceState(days)).toBe(state);
  });

  it('is unknown without a date', () => {
    expect(toLicenceState(findLicenceDays({ ...driver, license_expiry_date: null }, 0))).toBe('unknown');
  });
});

const read = (document_type: string, values: Record<string, string>): ReadDocument => ({
  document_type,
  confidence: 0.9,
  fields: Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, { value, confidence: 0.9, source: 'ocr' as const }]),
  ),
  mrz: null,
  engine: 'tesseract',
  pages: 1,
  warnings: [],
  document_id: null,
  duration_ms: 1,
});

describe('a document that was read', () => {
  it('fills the licence from a driving licence', () => {
    const fields = toReadFields(
      read('driver_license', { name: 'ASHA', license_number: 'KA01', expiry_date: '2030-01-01' }),
    );
    expect(applyReadFields(emptyForm, fields)).toEqual({
      ...emptyForm,
      name: 'ASHA',
      license_number: 'KA01',
      license_expiry_date: '2030-01-01',
    });
  });

  it('fills name and date of birth from a passport, but no licence', () => {
    const values = { surname: 'ERIKSSON', given_names: 'ANNA', document_number: 'L898902C', expiry_date: '2030-01-01' };
    expect(Object.keys(toReadFields(read('passport', values)))).toEqual(['name']);
    expect(toReadFields(read('passport', values)).name?.value).toBe('ANNA ERIKSSON');
  });
});
