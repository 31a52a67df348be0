/** Supported elements of the AAMVA card design standard, by our field names. */
const elements = {
  license_number: ['DAQ'],
  issue_date: ['DBD'],
  expiry_date: ['DBA'],
  date_of_birth: ['DBB'],
  classes: ['DCA'],
  country: ['DCG'],
  authority: ['DAJ'],
} as const;

/**
 * Parses the fields of a driver's licence from the text of its PDF417 barcode (AAMVA DL/ID Card Design Standard, annex
 * D). Returns null for any other text.
 */
export function parseAamva(text: string): Record<string, string> | null {
  // The header begins with an @ and separators. These are control characters, some of which readers drop.
  if (!/^[^A-Za-z0-9]*(?:ANSI |AAMVA)/.test(text)) return null;
  const of = (id: string): string => {
    // The first element directly follows the name of its subfile.
    const value = new RegExp(String.raw`(?:^|[\n\r\u001e]|(?<=\d)(?:DL|ID))${id}([^\n\r\u001e]*)`).exec(text)?.[1];
    return value === undefined || /^(NONE|unavl)$/i.test(value.trim()) ? '' : value.trim();
  };
  const isCanadian = of('DCG') === 'CAN';
  const fields: Record<string, string> = {};
  for (const [name, ids] of Object.entries(elements)) {
    const value = ids.map(of).find((each) => each !== '');
    if (value === undefined) continue;
    const normalized = name.includes('date') ? parseDate(value, isCanadian) : value;
    if (normalized !== null) fields[name] = normalized;
  }
  const name = parseName(of);
  if (name !== '') fields['name'] = name;
  const address = [of('DAG'), of('DAH'), of('DAI'), `${of('DAJ')} ${of('DAK').slice(0, 5)}`.trim()]
    .filter((part) => part !== '')
    .join(', ');
  if (of('DAG') !== '') fields['address'] = address;
  return Object.keys(fields).length === 0 ? null : fields;
}

/**
 * Joins the parts of the name. Cards of the first version of the standard have the whole name in one element, or the
 * surname in another one.
 */
function parseName(of: (id: string) => string): string {
  const parts = [of('DAC') || of('DCT'), of('DAD'), of('DCS') || of('DAB')];
  const [surname = '', ...given] = of('DAA').split(',');
  return (parts.some((part) => part !== '') ? parts : [...given, surname])
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .join(' ');
}

/**
 * Parses a date: MMDDCCYY in the United States, CCYYMMDD in Canada and in the first version of the standard. The
 * formats are unambiguous, because no year is a valid month.
 */
function parseDate(text: string, isCanadian: boolean): string | null {
  if (!/^\d{8}$/.test(text)) return null;
  const yearFirst = `${text.slice(0, 4)}-${text.slice(4, 6)}-${text.slice(6)}`;
  const yearLast = `${text.slice(4)}-${text.slice(0, 2)}-${text.slice(2, 4)}`;
  const found = (isCanadian ? [yearFirst] : [yearLast, yearFirst]).find((iso) => !Number.isNaN(Date.parse(iso)));
  return found ?? null;
}
