import { AppError, invalid } from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../deps.ts';
import { readBarcode } from './barcode.ts';
import type { OcrEngine, OcrText } from './ocr.ts';
import { hasWords, readPdf } from './pdf.ts';
import { pictureSize } from './pictures.ts';
import { type DocumentText, extract, fileTypeOf, meanConfidence } from './rules.ts';
import { type ExtractBody, type ExtractResult, mimeTypes } from './schema.ts';
import { storeDocument } from './stored.ts';

type Parts = Pick<Deps, 'records' | 'database' | 'encryption' | 'log' | 'ocr'>;

/** Largest file (platform-contract.md, section 19). */
export const fileLimitBytes = 10 * 1024 * 1024;
const maxPages = 5;
/** Cameras of telephones take some 12, the best of them 50 million. */
const maxPixels = 50_000_000;

/** What was handed in: a file, or text that was read elsewhere. */
type Given =
  | { readonly file: Buffer; readonly mimeType: NonNullable<ReturnType<typeof fileTypeOf>> }
  | { readonly text: string };

/** Reads the fields of a document. What they say is answered and never logged; the file stays only where that is asked for. */
export async function extractDocument(deps: Parts, caller: Caller, body: ExtractBody): Promise<ExtractResult> {
  const startedAtMs = performance.now();
  const given = givenIn(body);
  const { pages, engine, ...read } = 'text' in given ? ofText(given.text) : await textOf(deps, given);
  const extracted = extract(read, body.document_type ?? 'auto', body.country);
  if (extracted === null) throw unreadable('Nothing was found in the document that can be read.');
  const { type, fields, mrz, warnings } = extracted;
  const stored =
    body.store === true && 'file' in given
      ? await storeDocument(deps, caller, { documentType: type, content: given.file, mimeType: given.mimeType })
      : null;
  return {
    document_type: type,
    confidence: meanConfidence(fields),
    fields,
    mrz: mrz === null ? null : { format: mrz.format, lines: [...mrz.lines], valid: mrz.faults.length === 0 },
    engine,
    pages,
    warnings: [...warnings],
    document_id: stored?._id ?? null,
    duration_ms: Math.round(performance.now() - startedAtMs),
  };
}

const unreadable = (message: string, cause?: unknown): AppError =>
  new AppError('unreadable_document', message, { cause });

function givenIn(body: ExtractBody): Given {
  const ways = [body.file, body.content_base64, body.text].filter((way) => way !== undefined);
  if (ways.length !== 1)
    throw invalid([{ path: '/file', message: 'or content_base64 or text must be given, and one of them alone' }]);
  if (body.text !== undefined) return { text: body.text };
  const { bytes, declared } = bytesOf(body);
  if (bytes.length > fileLimitBytes)
    throw new AppError('body_too_large', `The file is larger than ${fileLimitBytes} bytes.`);
  const isKnown = declared === undefined || (mimeTypes as readonly string[]).includes(declared);
  if (!isKnown) throw new AppError('unsupported_media_type', `The file must be one of ${mimeTypes.join(', ')}.`);
  const mimeType = fileTypeOf(bytes);
  if (mimeType === null) throw unreadable('The file is no picture and no PDF.');
  if (mimeType !== 'application/pdf') checkPixels(bytes, mimeType);
  return { file: bytes, mimeType };
}

/** Before anything unpacks it: some kilobytes may be gigabytes then. */
function checkPixels(bytes: Buffer, mimeType: Parameters<typeof pictureSize>[1]): void {
  const size = pictureSize(bytes, mimeType);
  if (size === null) throw unreadable('The head of the picture can not be read.');
  const { width, height } = size;
  if (width * height > maxPixels)
    throw new AppError(
      'body_too_large',
      `The picture has ${width} x ${height} pixels; it may have ${maxPixels / 1_000_000} million.`,
    );
}

function bytesOf({ file, content_base64: base64, mime_type: mimeType }: ExtractBody): {
  bytes: Buffer;
  declared: string | undefined;
} {
  if (base64 !== undefined) {
    if (!/^[A-Za-z0-9+/\s]+={0,2}\s*$/.test(base64))
      throw invalid([{ path: '/content_base64', message: 'must be base64' }]);
    return { bytes: Buffer.from(base64, 'base64'), declared: mimeType };
  }
  const bytes: unknown = file?.bytes;
  if (!Buffer.isBuffer(bytes)) throw invalid([{ path: '/file', message: 'must be a file of multipart/form-data' }]);
  // Clients that do not know say this.
  const isUnknown = file?.mimeType === 'application/octet-stream';
  return { bytes, declared: isUnknown ? undefined : file?.mimeType };
}

type Read = DocumentText & { readonly pages: number; readonly engine: string };

const ofText = (text: string): Read => ({ text, source: 'text', confidence: 1, pages: 1, engine: 'none' });

async function textOf({ ocr }: Parts, { file, mimeType }: Extract<Given, { file: Buffer }>): Promise<Read> {
  if (mimeType !== 'application/pdf') return ofPictures(ocr, [{ content: file, mimeType }], 1);
  const pdf = await readPdf(file, { maxPages, withPictures: ocr.name === 'tesseract' });
  if (pdf === null) throw unreadable('The PDF can not be read, or takes too much to be read.');
  const { pages, text, pictures } = pdf;
  if (pages > maxPages) throw invalid([{ path: '/file', message: `must not have more than ${maxPages} pages` }]);
  if (hasWords(text)) return { ...ofText(text), pages, engine: 'pdf' };
  if (ocr.name !== 'tesseract') return ofPictures(ocr, [{ content: file, mimeType }], pages);
  if (pictures.length === 0) throw unreadable('The PDF has neither text nor pictures of its pages.');
  const scans = pictures.map((content) => ({ content, mimeType: 'image/png' }));
  return ofPictures(ocr, scans, pages);
}

/** What is read in pictures: a barcode of a licence says all; else what the engine reads, one after the other. Services of operators read whole PDFs. */
async function ofPictures(
  ocr: OcrEngine,
  pictures: readonly { readonly content: Buffer; readonly mimeType: string }[],
  pages: number,
): Promise<Read> {
  const read: OcrText[] = [];
  for (const { content, mimeType } of pictures) {
    const barcode = ocr.name === 'none' ? null : await readBarcode(content, mimeType);
    if (barcode !== null) return { ...ofText(barcode), pages, engine: 'barcode' };
    read.push(await ocr.read(content, mimeType));
  }
  const confidence = read.reduce((sum, each) => sum + each.confidence, 0) / Math.max(1, read.length);
  return { text: read.map(({ text }) => text).join('\n'), confidence, source: 'ocr', pages, engine: ocr.name };
}
