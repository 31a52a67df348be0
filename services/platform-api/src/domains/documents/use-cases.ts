import { AppError, invalid } from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../deps.ts';
import { readBarcode } from './barcode.ts';
import { bytesOfBase64 } from './base64.ts';
import type { OcrEngine, OcrText } from './ocr.ts';
import { hasWords, type PdfContent, pictureLimitBytes, readPdf, readPdfPicture } from './pdf.ts';
import { pictureSize } from './pictures.ts';
import { type DocumentText, type Extracted, extract, fileTypeOf, meanConfidence } from './rules.ts';
import { type ExtractBody, type ExtractResult, mimeTypes } from './schema.ts';
import { storeDocument } from './stored.ts';

type Parts = Pick<Deps, 'records' | 'database' | 'encryption' | 'log' | 'ocr'>;

/** Largest file (platform-contract.md, section 19). */
export const fileLimitBytes = 10 * 1024 * 1024;
const maxPages = 5;
/** Cameras of telephones take some 12, the best of them 50 million. */
const maxPixels = 50_000_000;

/** Documents have some hundred words. */
const textLimit = 100_000;

/** What was handed in: a file, or text that was read elsewhere. */
type Given =
  | { readonly file: Buffer; readonly mimeType: NonNullable<ReturnType<typeof fileTypeOf>> }
  | { readonly text: string };

/** Reads the fields of a document. What they say is answered and never logged; the file stays only where that is asked for. */
export async function extractDocument(
  deps: Parts,
  caller: Caller,
  body: ExtractBody,
  signal: AbortSignal,
): Promise<ExtractResult> {
  const startedAtMs = performance.now();
  const given = givenIn(body);
  const understand = (read: Read): Understood | null => {
    const extracted = extract(
      { ...read, text: read.text.slice(0, textLimit) },
      body.document_type ?? 'auto',
      body.country,
    );
    return extracted === null ? null : { ...extracted, pages: read.pages, engine: read.engine };
  };
  const understood = 'text' in given ? understand(ofText(given.text)) : await inFile(deps, given, understand, signal);
  if (understood === null) throw unreadable('Nothing was found in the document that can be read.');
  const { type, fields, mrz, warnings, pages, engine } = understood;
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
    const bytes = bytesOfBase64(base64);
    if (bytes === null) throw invalid([{ path: '/content_base64', message: 'must be base64' }]);
    return { bytes, declared: mimeType };
  }
  const bytes: unknown = file?.bytes;
  if (!Buffer.isBuffer(bytes)) throw invalid([{ path: '/file', message: 'must be a file of multipart/form-data' }]);
  // Clients that do not know say this.
  const isUnknown = file?.mimeType === 'application/octet-stream';
  return { bytes, declared: isUnknown ? undefined : file?.mimeType };
}

type Read = DocumentText & { readonly pages: number; readonly engine: string };
type Understood = Extracted & Pick<Read, 'pages' | 'engine'>;

const ofText = (text: string): Read => ({ text, source: 'text', confidence: 1, pages: 1, engine: 'none' });

/** What a file says: the text layer of a PDF where that says something, else its pictures. Programs that scan write their names below the pages. */
async function inFile(
  { ocr }: Parts,
  { file, mimeType }: Extract<Given, { file: Buffer }>,
  understand: (read: Read) => Understood | null,
  signal: AbortSignal,
): Promise<Understood | null> {
  const ofAll = async (pictures: Pictures, pages: number): Promise<Understood | null> =>
    understand(await ofPictures(ocr, pictures, pages, signal));
  if (mimeType !== 'application/pdf') return ofAll([{ content: file, mimeType }], 1);
  const { pages, text } = await contentOf(file, signal);
  if (hasWords(text)) {
    const understood = understand({ ...ofText(text), pages, engine: 'pdf' });
    if (understood !== null || ocr.name === 'none') return understood;
  }
  // Services of operators read whole PDFs.
  return ofAll(ocr.name === 'tesseract' ? scansOf(file, pages, signal) : [{ content: file, mimeType }], pages);
}

async function contentOf(file: Buffer, signal: AbortSignal): Promise<PdfContent> {
  const content = await readPdf(file, maxPages, signal);
  if (content === null) throw unreadable('The PDF can not be read, or takes too much to be read.');
  if (content.pages <= maxPages) return content;
  throw invalid([{ path: '/file', message: `must not have more than ${maxPages} pages` }]);
}

/** The picture of each page that has one, when it is asked for. */
async function* scansOf(file: Buffer, pages: number, signal: AbortSignal): AsyncGenerator<Picture> {
  for (let page = 1; page <= pages; page += 1) {
    const content = await readPdfPicture(file, page, signal);
    if (content === null)
      throw unreadable(
        `The picture on page ${page} of the PDF can not be read, or takes too much to be read: as PNG it may have ${pictureLimitBytes / 1024 / 1024} MiB.`,
      );
    if (content.length > 0) yield { content, mimeType: 'image/png' };
  }
}

interface Picture {
  readonly content: Buffer;
  readonly mimeType: string;
}
type Pictures = Iterable<Picture> | AsyncIterable<Picture>;

/** What is read in pictures: a barcode of a licence says all; else what the engine reads, one after the other. */
async function ofPictures(ocr: OcrEngine, pictures: Pictures, pages: number, signal: AbortSignal): Promise<Read> {
  const read: OcrText[] = [];
  for await (const { content, mimeType } of pictures) {
    const barcode = ocr.name === 'none' ? null : await readBarcode(content, mimeType, signal);
    if (barcode !== null) return { ...ofText(barcode), pages, engine: 'barcode' };
    read.push(await ocr.read(content, mimeType, signal));
  }
  const confidence = read.reduce((sum, each) => sum + each.confidence, 0) / Math.max(1, read.length);
  return { text: read.map(({ text }) => text).join('\n'), confidence, source: 'ocr', pages, engine: ocr.name };
}
