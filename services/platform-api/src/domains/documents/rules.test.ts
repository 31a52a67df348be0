import { describe, expect, it } from '@jest/globals';
import { parseAamva } from './aamva.ts';
import { detectDocumentType, parseDate, parseLabels } from './labels.ts';
import { checkDigit, parseMrz } from './mrz.ts';
import { detectMimeType, extractFields } from './rules.ts';

const now = new Date('2026-01-31T00:00:00Z');
// The specimens of ICAO 9303, parts 4, 5 and 6.
const td3 = ['P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<', 'L898902C36UTO7408122F1204159ZE184226B<<<<<10'] as const;
const td2 = ['I<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<', 'D231458907UTO7408122F1204159<<<<<<<6'];
const td1 = ['I<UTOD231458907<<<<<<<<<<<<<<<', '7408122F1204159UTO<<<<<<<<<<<6', 'ERIKSSON<<ANNA<MARIA<<<<<<<<<<'];
const anna = {
  surname: 'ERIKSSON',
  given_names: 'ANNA MARIA',
  nationality: 'UTO',
  date_of_birth: '1974-08-12',
  sex: 'F',
  expiry_date: '2012-04-15',
  issuing_country: 'UTO',
};

describe('machine-readable zone', () => {
  it.each([
    ['TD3', td3, 'L898902C3'],
    ['TD2', td2, 'D23145890'],
    ['TD1', td1, 'D23145890'],
  ] as const)('of %s is parsed from the specimen, including its check digits', (format, lines, number) => {
    const mrz = parseMrz(`Some text\n${lines.join('\n')}\n`, now);
    expect(mrz).toMatchObject({ format, lines, faults: [] });
    expect(mrz?.fields).toEqual({ ...anna, document_number: number });
  });

  it('has the check digit of ICAO 9303-3', () => {
    expect(checkDigit('520727')).toBe('3');
    expect(checkDigit('AB2134<<<')).toBe('5');
  });

  it('reports wrong check digits', () => {
    const wrong = [td3[0], td3[1]?.replace('L898902C36', 'L898902C46')].join('\n');
    expect(parseMrz(wrong, now)?.faults).toEqual(['document_number', 'composite']);
    expect(parseMrz([td3[0], td3[1]?.replace('7408122', '7508122')].join('\n'), now)?.faults).toContain(
      'date_of_birth',
    );
  });

  it('is parsed despite blanks, missing fillers at the end, and letters instead of digits', () => {
    const noisy = [td3[0]?.slice(0, 43), td3[1]?.replace('7408122', '74O8I22').replace('UTO', 'UTO ')].join('\n');
    expect(parseMrz(noisy, now)).toMatchObject({ fields: { date_of_birth: '1974-08-12' }, faults: [] });
  });

  it.each(['O0', 'Q0', 'D0', 'I1', 'L1', 'Z2', 'S5', 'G6', 'B8'])(
    'is parsed if OCR confuses a letter with a digit of a date: %s',
    ([letter = '', digit = '']) => {
      const birth = '650812';
      const second = `L898902C36UTO${birth.replace(digit, letter)}${checkDigit(birth)}${td3[1].slice(20)}`;
      const mrz = parseMrz([td3[0], second].join('\n'), now);
      expect(mrz?.fields).toMatchObject({ date_of_birth: '1965-08-12' });
      expect(mrz?.faults).not.toContain('date_of_birth');
    },
  );

  it('has no date of birth in the future, and expiry dates up to 50 years ahead', () => {
    const at = (birth: string, expiry: string) =>
      parseMrz(
        [td3[0], `L898902C36UTO${birth}${checkDigit(birth)}F${expiry}${checkDigit(expiry)}${td3[1]?.slice(28)}`].join(
          '\n',
        ),
        now,
      )?.fields;
    expect(at('260130', '760101')).toMatchObject({ date_of_birth: '2026-01-30', expiry_date: '2076-01-01' });
    expect(at('260201', '770101')).toMatchObject({ date_of_birth: '1926-02-01', expiry_date: '1977-01-01' });
    expect(at('741332', '760101')).not.toHaveProperty('date_of_birth');
  });

  it('is not found in other texts', () => {
    for (const text of ['', 'hello', 'P<UTO', 'A'.repeat(44), `${'1'.repeat(44)}\n${'2'.repeat(44)}`])
      expect(parseMrz(text, now)).toBeNull();
  });
});

describe('barcode of a licence', () => {
  const text =
    '@\n\u001e\rANSI 636000100002DL00410278ZV03190008DLDAQT64235789\nDCSSAMPLE\nDACMICHAEL\nDADJOHN\nDBD06062018\nDBB06061986\nDBA12102034\nDAG2300 WEST BROAD STREET\nDAIRICHMOND\nDAJVA\nDAK232690000  \nDCGUSA\nDCAD\n';

  it('is parsed in AAMVA form', () => {
    expect(parseAamva(text)).toEqual({
      license_number: 'T64235789',
      name: 'MICHAEL JOHN SAMPLE',
      date_of_birth: '1986-06-06',
      issue_date: '2018-06-06',
      expiry_date: '2034-12-10',
      classes: 'D',
      country: 'USA',
      authority: 'VA',
      address: '2300 WEST BROAD STREET, RICHMOND, VA 23269',
    });
    expect(extractFields({ text, source: 'text', confidence: 1 }, 'auto', undefined)).toMatchObject({
      type: 'driver_license',
      fields: { license_number: { value: 'T64235789', source: 'barcode' } },
    });
  });

  it('has its dates in the order year, month, day in Canada', () => {
    const canadian = text.replace('DCGUSA', 'DCGCAN').replace('DBB06061986', 'DBB19860607');
    expect(parseAamva(canadian)).toMatchObject({ date_of_birth: '1986-06-07' });
    expect(parseAamva('DAQT64235789')).toBeNull();
  });

  it('has the whole name in one element and the year first in the first version of the standard', () => {
    const first =
      '@\n\u001e\rAAMVA6360000101DL00290197DLDAASAMPLE,MICHAEL,JOHN\nDAQT64235789\nDBA20341210\nDBB19860606\n';
    expect(parseAamva(first)).toEqual({
      license_number: 'T64235789',
      name: 'MICHAEL JOHN SAMPLE',
      date_of_birth: '1986-06-06',
      expiry_date: '2034-12-10',
    });
  });
});

describe('labels of a document', () => {
  it.each([
    [
      'driver_license',
      'DRIVING LICENCE\nDL No: KA01 20110012345\nName: Asha Rao\nDOB: 12/08/1984\nDate of issue: 01-02-2014\nValid till: 11 Aug 2034\nBlood group: O+\nClass of vehicle: LMV, MCWG',
      {
        license_number: 'KA01 20110012345',
        name: 'Asha Rao',
        date_of_birth: '1984-08-12',
        issue_date: '2014-02-01',
        expiry_date: '2034-08-11',
        blood_group: 'O+',
        classes: 'LMV, MCWG',
      },
    ],
    [
      'vehicle_registration',
      "Certificate of Registration\nRegistration No. KA01AB1234\nChassis No: MA1AB2CD3EF456789\nEngine Number\nK12MN1234567\nOwner's Name: Asha Rao\nFuel: DIESEL\nDate of registration: 2019-05-06",
      {
        registration_number: 'KA01AB1234',
        chassis_number: 'MA1AB2CD3EF456789',
        engine_number: 'K12MN1234567',
        owner_name: 'Asha Rao',
        fuel_type: 'DIESEL',
        registration_date: '2019-05-06',
      },
    ],
    [
      'insurance',
      'Motor Insurance\nInsurer: Example Assurance\nPolicy No: OG-24-1701-1801\nVehicle No: KA01AB1234\nValid from: 01/04/2025\nValid until: 31/03/2026',
      {
        insurer: 'Example Assurance',
        policy_number: 'OG-24-1701-1801',
        vehicle_number: 'KA01AB1234',
        valid_from: '2025-04-01',
        valid_until: '2026-03-31',
      },
    ],
  ] as const)('of %s are parsed', (type, text, fields) => {
    expect(detectDocumentType(text)).toBe(type);
    expect(parseLabels(text, type, undefined)).toMatchObject(fields);
  });

  it.each([
    ['12/08/1984', undefined, '1984-08-12'],
    ['12/08/1984', 'US', '1984-12-08'],
    ['12/31/1984', undefined, '1984-12-31'],
    ['31.12.1984', 'US', '1984-12-31'],
    ['5 March 2020', undefined, '2020-03-05'],
    ['2020-02-30', undefined, null],
    ['soon', undefined, null],
  ])('parses the date %s for country %s', (text, country, date) => {
    expect(parseDate(text, country)).toBe(date);
  });

  it('are not found in noise', () => {
    expect(extractFields({ text: 'lorem ipsum dolor', source: 'ocr', confidence: 0.4 }, 'auto', undefined)).toBeNull();
    expect(extractFields({ text: '', source: 'text', confidence: 1 }, 'insurance', undefined)).toBeNull();
  });
});

describe('detectMimeType', () => {
  it('detects the type of a file from its first bytes', () => {
    expect(detectMimeType(Buffer.from('ffd8ffe000', 'hex'))).toBe('image/jpeg');
    expect(detectMimeType(Buffer.from('89504e470d0a1a0a00', 'hex'))).toBe('image/png');
    expect(detectMimeType(Buffer.from('RIFF0000WEBPVP8 '))).toBe('image/webp');
    expect(detectMimeType(Buffer.from('%PDF-1.7'))).toBe('application/pdf');
    expect(detectMimeType(Buffer.from('GIF89a'))).toBeNull();
    expect(detectMimeType(Buffer.alloc(0))).toBeNull();
  });
});
