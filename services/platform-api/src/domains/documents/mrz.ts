/** The machine-readable zone of a passport or card (ICAO 9303, parts 4 to 6). */
export interface Mrz {
  readonly format: 'TD1' | 'TD2' | 'TD3';
  readonly lines: readonly string[];
  readonly documentCode: string;
  readonly fields: Readonly<Record<string, string>>;
  /** Fields whose check digit is wrong; `composite` is the check digit of the whole zone. */
  readonly faults: readonly string[];
}

interface Layout {
  readonly format: Mrz['format'];
  readonly length: number;
  readonly lines: 2 | 3;
  readonly start: RegExp;
}

const layouts: readonly Layout[] = [
  { format: 'TD3', length: 44, lines: 2, start: /^P/ },
  { format: 'TD2', length: 36, lines: 2, start: /^[ACIP]/ },
  { format: 'TD1', length: 30, lines: 3, start: /^[ACI]/ },
];

/** Number of fillers that OCR may drop or add per line. */
const tolerance = 2;
const weights = [7, 3, 1];

function characterValue(character: string): number {
  if (character === '<') return 0;
  return Number.parseInt(character, 36);
}

/** Computes a check digit (ICAO 9303-3, 4.9): the sum of the values with the weights 7, 3, 1, modulo 10. */
export function checkDigit(text: string): string {
  let sum = 0;
  for (let i = 0; i < text.length; i += 1) sum += characterValue(text.charAt(i)) * (weights[i % 3] ?? 0);
  return String(sum % 10);
}

/** Finds and parses the zone in a text; returns null if there is none. */
export function parseMrz(text: string, now = new Date()): Mrz | null {
  const lines = text.split(/\r?\n/).map((line) => line.toUpperCase().replaceAll('«', '<<').replaceAll(/\s/g, ''));
  for (const layout of layouts)
    for (let at = 0; at + layout.lines <= lines.length; at += 1) {
      const fittingLines = lines.slice(at, at + layout.lines).map((line) => fit(line, layout.length));
      const [first] = fittingLines;
      if (fittingLines.some((line) => line === null) || first === null || first === undefined) continue;
      if (!layout.start.test(first) || !first.includes('<')) continue;
      return parseLines(layout, fittingLines as string[], now);
    }
  return null;
}

/** Returns the line with the right length, or null if it cannot belong to a zone. */
function fit(line: string, length: number): string | null {
  if (!/^[A-Z0-9<]+$/.test(line) || Math.abs(line.length - length) > tolerance) return null;
  if (line.length <= length) return line.padEnd(length, '<');
  return line.slice(length).replaceAll('<', '') === '' ? line.slice(0, length) : null;
}

/** Replaces letters that OCR confuses with digits, in fields that contain only digits. */
const toDigits = (text: string): string =>
  text.replaceAll(
    /[OQDILZSGB]/g,
    (letter) => ({ O: '0', Q: '0', D: '0', I: '1', L: '1', Z: '2', S: '5', G: '6', B: '8' })[letter] ?? letter,
  );

interface MrzParts {
  readonly number: string;
  readonly numberCheck: string;
  readonly birth: string;
  readonly birthCheck: string;
  readonly sex: string;
  readonly expiry: string;
  readonly expiryCheck: string;
  readonly nationality: string;
  readonly names: string;
  readonly composite: string;
  readonly compositeCheck: string;
  readonly optional?: string;
  readonly optionalCheck?: string;
}

function parseLines({ format }: Layout, lines: readonly string[], now: Date): Mrz {
  const first = lines[0] ?? '';
  const parts = format === 'TD1' ? splitCard(lines) : splitTwoLines(first, lines[1] ?? '', format);
  const { surname, given } = parseNames(parts.names);
  const checks: readonly (readonly [string, string, string])[] = [
    ['document_number', parts.number, parts.numberCheck],
    ['date_of_birth', parts.birth, parts.birthCheck],
    ['expiry_date', parts.expiry, parts.expiryCheck],
    ['composite', parts.composite, parts.compositeCheck],
    // The check digit may be omitted if the field is empty.
    ...(parts.optional === undefined || parts.optionalCheck === '<'
      ? []
      : ([['personal_number', parts.optional, parts.optionalCheck ?? '']] as const)),
  ];
  const fields: Record<string, string | null> = {
    document_number: stripFiller(parts.number),
    surname,
    given_names: given,
    nationality: stripFiller(parts.nationality),
    date_of_birth: parseDate(parts.birth, (year) => (year > now.getUTCFullYear() % 100 ? 1900 : 2000) + year, now),
    sex: { M: 'M', F: 'F' }[parts.sex] ?? 'X',
    expiry_date: parseDate(parts.expiry, (year) => (2000 + year > now.getUTCFullYear() + 50 ? 1900 : 2000) + year),
    issuing_country: stripFiller(first.slice(2, 5)),
  };
  return {
    format,
    lines,
    documentCode: stripFiller(first.slice(0, 2)),
    fields: Object.fromEntries(
      Object.entries(fields).filter((entry): entry is [string, string] => entry[1] !== null && entry[1] !== ''),
    ),
    faults: checks.filter(([, text, check]) => checkDigit(text) !== toDigits(check)).map(([name]) => name),
  };
}

/** Splits the lines of TD2 and TD3, whose second lines differ only at the end. */
function splitTwoLines(first: string, second: string, format: 'TD2' | 'TD3'): MrzParts {
  const end = format === 'TD3' ? 43 : 35;
  const [birth, expiry] = [toDigits(second.slice(13, 19)), toDigits(second.slice(21, 27))];
  const [birthCheck, expiryCheck] = [toDigits(second.slice(19, 20)), toDigits(second.slice(27, 28))];
  return {
    number: second.slice(0, 9),
    numberCheck: second.slice(9, 10),
    nationality: second.slice(10, 13),
    birth,
    birthCheck,
    sex: second.slice(20, 21),
    expiry,
    expiryCheck,
    names: first.slice(5),
    composite:
      second.slice(0, 9) +
      toDigits(second.slice(9, 10)) +
      birth +
      birthCheck +
      expiry +
      expiryCheck +
      second.slice(28, end),
    compositeCheck: second.slice(end, end + 1),
    ...(format === 'TD3' ? { optional: second.slice(28, 42), optionalCheck: second.slice(42, 43) } : {}),
  };
}

/**
 * Splits the lines of TD1. A number longer than nine characters continues in the optional part, followed by its check
 * digit.
 */
function splitCard([first = '', second = '', third = '']: readonly string[]): MrzParts {
  const [birth, expiry] = [toDigits(second.slice(0, 6)), toDigits(second.slice(8, 14))];
  const [birthCheck, expiryCheck] = [toDigits(second.slice(6, 7)), toDigits(second.slice(14, 15))];
  const rest = /^[^<]+/.exec(first.slice(15))?.[0];
  const isLong = first[14] === '<' && rest !== undefined;
  return {
    number: isLong ? `${first.slice(5, 14)}${rest.slice(0, -1)}` : first.slice(5, 14),
    numberCheck: isLong ? rest.slice(-1) : first.slice(14, 15),
    birth,
    birthCheck,
    sex: second.slice(7, 8),
    expiry,
    expiryCheck,
    nationality: second.slice(15, 18),
    names: third,
    composite: first.slice(5, 30) + birth + birthCheck + expiry + expiryCheck + second.slice(18, 29),
    compositeCheck: second.slice(29, 30),
  };
}

const stripFiller = (text: string): string => text.replaceAll('<', ' ').trim();

function parseNames(text: string): { surname: string; given: string } {
  const [surname = '', given = ''] = text.split('<<');
  return { surname: stripFiller(surname), given: stripFiller(given).replaceAll(/ +/g, ' ') };
}

/** Parses a `YYMMDD` date; returns null if it is invalid. A date of birth is never in the future. */
function parseDate(text: string, fullYear: (year: number) => number, notAfter?: Date): string | null {
  if (!/^\d{6}$/.test(text)) return null;
  const [month, day] = [Number(text.slice(2, 4)), Number(text.slice(4, 6))];
  let year = fullYear(Number(text.slice(0, 2)));
  if (notAfter !== undefined && Date.UTC(year, month - 1, day) > notAfter.getTime()) year -= 100;
  const date = new Date(Date.UTC(year, month - 1, day));
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? date.toISOString().slice(0, 10) : null;
}
