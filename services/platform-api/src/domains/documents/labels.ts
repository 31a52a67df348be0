import type { DocumentType } from './schema.ts';

type Kind = 'id' | 'date' | 'text' | 'blood';

interface Label {
  readonly field: string;
  readonly kind: Kind;
  /** Text before the value. The first match counts. */
  readonly label: RegExp;
}

const label = (field: string, kind: Kind, pattern: string): Label => ({
  field,
  kind,
  label: new RegExp(String.raw`(?:^|[\s,;|])(?:\d[a-d]?\.\s*)?(?:${pattern})\s*[.:#=\-]*\s*`, 'i'),
});

const number = String.raw`(?:no|nr|num|number|#)\b\.?`;
const person = [
  label('surname', 'text', 'surname|last name|family name'),
  label('given_names', 'text', 'given names?|first names?|forenames?'),
  label('nationality', 'text', 'nationality|citizenship'),
  label('date_of_birth', 'date', String.raw`date of birth|birth date|d\.?o\.?b\.?`),
  label('sex', 'id', 'sex|gender'),
  label(
    'expiry_date',
    'date',
    'date of expiry|expiry date|expiration date|expires(?: on)?|valid (?:until|till|to|upto)',
  ),
  label('issuing_country', 'text', 'issuing (?:country|state)|country of issue'),
];

/** Labels of each kind of document, in the order of the search. */
const labels: Readonly<Record<DocumentType, readonly Label[]>> = {
  driver_license: [
    label('license_number', 'id', String.raw`(?:driv(?:ing|er'?s?) )?licen[cs]e ${number}|d\.?l\.? ?${number}|dl`),
    label('date_of_birth', 'date', String.raw`date of birth|birth date|d\.?o\.?b\.?`),
    label('issue_date', 'date', String.raw`date of issue|issue date|issued(?: on)?|doi|iss`),
    label(
      'expiry_date',
      'date',
      'date of expiry|expiry date|expiration date|expires(?: on)?|valid(?:ity)? (?:until|till|to|upto)|exp',
    ),
    label('classes', 'text', String.raw`class(?:es)?(?: of vehicles?)?|categor(?:y|ies)|cov`),
    label('blood_group', 'blood', String.raw`blood (?:group|type)|b\.?g\.?`),
    label('authority', 'text', '(?:issuing|licen[cs]ing) authority|issued by|authority'),
    label('address', 'text', 'address|addr'),
    label('country', 'text', 'country'),
    label('name', 'text', '(?:full )?name(?: of holder)?|holder'),
  ],
  passport: [label('document_number', 'id', `passport ${number}|document ${number}`), ...person],
  id_card: [label('document_number', 'id', `(?:id(?:entity)?(?: card)?|card|document|personal) ${number}`), ...person],
  vehicle_registration: [
    label(
      'registration_number',
      'id',
      `(?:vehicle )?(?:registration|regn?\\.?) ${number}|vehicle ${number}|regn?\\.? mark`,
    ),
    label('chassis_number', 'id', `chassis ${number}|chassis|vin`),
    label('engine_number', 'id', `engine ${number}|motor ${number}`),
    label('owner_name', 'text', "(?:registered )?owner(?:'s)?(?: name)?|name of owner"),
    label('make', 'text', "make|manufacturer|maker(?:'s name)?"),
    label('model', 'text', 'model(?: name)?'),
    label('fuel_type', 'text', 'fuel(?: type| used)?'),
    label('registration_date', 'date', 'date of (?:first )?reg(?:istratio)?n|reg(?:istratio)?n\\.? date|registered on'),
    label('valid_until', 'date', '(?:registration |fitness )?valid(?:ity)? (?:until|till|to|upto)|expiry date'),
  ],
  insurance: [
    label('policy_number', 'id', `policy ${number}|certificate ${number}`),
    label('vehicle_number', 'id', `(?:vehicle|registration|regn?\\.?) (?:registration )?${number}`),
    label('insurer', 'text', 'insurer|insurance company|insured by|underwriter'),
    label(
      'valid_from',
      'date',
      '(?:valid|cover|period|insurance)? ?from|commencement(?: date)?|start date|effective date',
    ),
    label('valid_until', 'date', '(?:valid )?(?:until|till|upto)|expiry date|expires(?: on)?|end date'),
  ],
};

/** Words that identify the kind of a document. */
const titles: readonly (readonly [DocumentType, RegExp])[] = [
  ['insurance', /\binsurance\b|\binsurer\b|\bpolicy (?:no|number)\b/i],
  [
    'vehicle_registration',
    /\bregistration certificate\b|\bcertificate of registration\b|\bchassis\b|\bengine (?:no|number)\b/i,
  ],
  ['driver_license', /\bdriv(?:ing|er'?s?) licen[cs]e\b|\blicen[cs]e (?:no|number)\b/i],
  ['passport', /\bpassport\b/i],
  ['id_card', /\bidentity card\b|\bid card\b|\bnational id\b/i],
];

/** Returns the kind of document that a text seems to be, or null. */
export const detectDocumentType = (text: string): DocumentType | null =>
  titles.find(([, words]) => words.test(text))?.[0] ?? null;

/** Parses the labelled fields of a kind of document. */
export function parseLabels(text: string, type: DocumentType, country: string | undefined): Record<string, string> {
  const lines = text.split(/\r?\n/).map((line) => line.trim());
  const fields: Record<string, string> = {};
  for (const missing of labels[type]) {
    for (const [at, line] of lines.entries()) {
      const match = missing.label.exec(line);
      if (match === null) continue;
      const rest = line.slice(match.index + match[0].length);
      const value =
        parseValue(missing.kind, rest, country) ??
        (rest === '' ? parseValue(missing.kind, lines[at + 1] ?? '', country) : null);
      if (value === null) continue;
      fields[missing.field] = value;
      break;
    }
  }
  return fields;
}

const valueLimit = 200;

function parseValue(kind: Kind, text: string, country: string | undefined): string | null {
  switch (kind) {
    case 'date':
      return parseDate(text, country);
    case 'blood':
      return (
        /^(?:AB|A|B|O)\s?(?:[+-]|positive|negative)?(?:ve)?/i.exec(text)?.[0].toUpperCase().replaceAll(' ', '') ?? null
      );
    case 'id':
      return /^[A-Z0-9](?:[A-Z0-9/-]|\s(?=[A-Z0-9]*\d)){0,29}/i.exec(text)?.[0].trim().toUpperCase() ?? null;
    case 'text': {
      // Columns are separated by several blanks.
      const value = text.split(/\s{3,}|\t|\|/)[0]?.trim() ?? '';
      return /[\p{L}\p{N}]/u.test(value) ? value.slice(0, valueLimit) : null;
    }
  }
}

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
/** Countries that write the month first. */
const monthFirst = new Set(['US', 'USA']);

/**
 * Parses a date at the start of a text and returns it as `YYYY-MM-DD`. The day comes first, except in countries that
 * write the month first.
 */
export function parseDate(text: string, country?: string): string | null {
  const iso = /^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})/.exec(text);
  if (iso !== null) return formatDate(Number(iso[1]), Number(iso[2]), Number(iso[3]));
  const named = /^(\d{1,2})[\s\-./]*([A-Za-z]{3})[A-Za-z]*[\s\-./,]*(\d{4})/.exec(text);
  if (named !== null)
    return formatDate(Number(named[3]), months.indexOf((named[2] ?? '').toLowerCase()) + 1, Number(named[1]));
  const numeric = /^(\d{1,2})[-/.](\d{1,2})[-/.](\d{4})/.exec(text);
  if (numeric === null) return null;
  const [first, second, year] = [Number(numeric[1]), Number(numeric[2]), Number(numeric[3])];
  const isMonthFirst = second > 12 || (first <= 12 && monthFirst.has(country?.toUpperCase() ?? ''));
  return isMonthFirst ? formatDate(year, first, second) : formatDate(year, second, first);
}

function formatDate(year: number, month: number, day: number): string | null {
  const date = new Date(Date.UTC(year, month - 1, day));
  const isReal = date.getUTCMonth() === month - 1 && date.getUTCDate() === day && year > 1800;
  return isReal ? date.toISOString().slice(0, 10) : null;
}
