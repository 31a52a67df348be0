import { parseAamva } from './aamva.ts';
import { detectDocumentType, parseLabels } from './labels.ts';
import { type Mrz, parseMrz } from './mrz.ts';
import { type DocumentType, documentTypes, type Field, type FieldSource } from './schema.ts';

/** Text of a document and its source. */
export interface DocumentText {
  readonly text: string;
  readonly source: 'text' | 'ocr';
  /** 0 to 1 */
  readonly confidence: number;
}

/** The fields extracted from a text. */
export interface Extraction {
  readonly type: DocumentType;
  readonly fields: Record<string, Field>;
  readonly mrz: Mrz | null;
  readonly warnings: readonly string[];
}

/** Less than 1, because a label and the value beside it may not belong together. */
const labelConfidence = 0.85;
const mrzConfidence = 0.98;
const faultyConfidence = 0.5;
const barcodeConfidence = 0.99;

/**
 * Extracts the fields of a document from its machine-readable zone, its barcode's text and its labels, in this order.
 * Returns null if nothing can be read.
 */
export function extractFields(
  { text, source, confidence }: DocumentText,
  requestedType: DocumentType | 'auto',
  country: string | undefined,
): Extraction | null {
  const fields: Record<string, Field> = {};
  const add = (values: Readonly<Record<string, string>>, from: FieldSource, of: (name: string) => number): void => {
    for (const [name, value] of Object.entries(values))
      if (!(name in fields)) fields[name] = { value, confidence: roundConfidence(of(name)), source: from };
  };
  const mrz = parseMrz(text);
  const zoneType = mrz === null ? null : mrz.documentCode.startsWith('P') ? 'passport' : 'id_card';
  if (mrz !== null) add(mrz.fields, 'mrz', (name) => zoneConfidence(mrz, name));
  const barcode = parseAamva(text);
  if (barcode !== null) add(barcode, 'barcode', () => barcodeConfidence);
  const type =
    requestedType === 'auto'
      ? (zoneType ?? (barcode === null ? (detectDocumentType(text) ?? bestType(text, country)) : 'driver_license'))
      : requestedType;
  if (type === null) return null;
  if (barcode === null) add(parseLabels(text, type, country), source, () => confidence * labelConfidence);
  if (Object.keys(fields).length === 0) return null;
  const warnings = (mrz?.faults ?? []).map(
    (name) => `The check digit of ${name} in the machine-readable zone is wrong.`,
  );
  if (zoneType !== null && requestedType !== 'auto' && requestedType !== zoneType)
    warnings.push(`The machine-readable zone belongs to another kind of document: ${zoneType}.`);
  return { type, fields, mrz, warnings };
}

function zoneConfidence({ faults }: Mrz, name: string): number {
  if (faults.includes(name)) return faultyConfidence;
  return faults.includes('composite') ? (mrzConfidence + faultyConfidence) / 2 : mrzConfidence;
}

/** Returns the kind with the most fields. Requires at least two fields, because one may be coincidence. */
function bestType(text: string, country: string | undefined): DocumentType | null {
  const counts = documentTypes.map((type) => [type, Object.keys(parseLabels(text, type, country)).length] as const);
  const [best] = counts.toSorted(([, one], [, other]) => other - one);
  return best !== undefined && best[1] >= 2 ? best[0] : null;
}

/** Returns the confidence of the document: the mean of its fields. */
export function meanConfidence(fields: Readonly<Record<string, Field>>): number {
  const all = Object.values(fields).map(({ confidence }) => confidence);
  return roundConfidence(all.reduce((sum, one) => sum + one, 0) / Math.max(1, all.length));
}

const roundConfidence = (value: number): number => Math.round(value * 1000) / 1000;

/** Detects the type of a file from its first bytes; returns null for unsupported types. */
export function detectMimeType(bytes: Buffer): 'image/jpeg' | 'image/png' | 'image/webp' | 'application/pdf' | null {
  if (bytes.subarray(0, 3).equals(Buffer.from([0xff, 0xd8, 0xff]))) return 'image/jpeg';
  if (bytes.subarray(0, 8).equals(Buffer.from('89504e470d0a1a0a', 'hex'))) return 'image/png';
  if (bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP') return 'image/webp';
  return bytes.subarray(0, 1024).includes('%PDF-') ? 'application/pdf' : null;
}
