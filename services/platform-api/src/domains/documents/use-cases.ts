import { AppError, validationError } from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../platform/deps.ts';
import { readBarcode } from './barcode.ts';
import { decodeBase64 } from './base64.ts';
import { storeDocument } from './document-files.ts';
import { imageSize } from './image-size.ts';
import type { OcrEngine, OcrText } from './ocr.ts';
import { hasWords, maxPictureBytes, type PdfContent, readPdf, readPdfPicture } from './pdf.ts';
import { type DocumentText, detectMimeType, type Extraction, extractFields, meanConfidence } from './rules.ts';
import { type ExtractBody, type ExtractResult, mimeTypes } from './schema.ts';

type ExtractDeps = Pick<Deps, 'records' | 'database' | 'encryption' | 'log' | 'ocr'>;

/** Largest file (docs/reference/documents-and-messages.md). */
const maxFileBytes = 10 * 1024 * 1024;
const maxPages = 5;
/** Phone cameras have some 12 million pixels, the best of them 50 million. */
const maxPixels = 50_000_000;

/** Documents have some hundred words. */
const maxTextLength = 100_000;

/** The input of a request: a file, or text that the client has read. */
type DocumentInput =
  | { readonly file: Buffer; readonly mimeType: NonNullable<ReturnType<typeof detectMimeType>> }
  | { readonly text: string };

/**
 * Extracts the fields of a document. Their values are returned and never logged. The file is stored only on request.
 */
export async function extractDocument(
  deps: ExtractDeps,
  caller: Caller,
  body: ExtractBody,
  signal: AbortSignal,
): Promise<ExtractResult> {
  const startedAtMs = performance.now();
  const input = parseInput(body);
  const understandText = (read: ReadResult): DocumentExtraction | null => {
    const extraction = extractFields(
      { ...read, text: read.text.slice(0, maxTextLength) },
      body.document_type ?? 'auto',
      body.country,
    );
    return extraction === null ? null : { ...extraction, pages: read.pages, engine: read.engine };
  };
  const extraction =
    'text' in input ? understandText(fromText(input.text)) : await extractFromFile(deps, input, understandText, signal);
  if (extraction === null) throw unreadableError('The document contains no readable fields.');
  const { type, fields, mrz, warnings, pages, engine } = extraction;
  const stored =
    body.store === true && 'file' in input
      ? await storeDocument(deps, caller, { documentType: type, content: input.file, mimeType: input.mimeType })
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

const unreadableError = (message: string, cause?: unknown): AppError =>
  new AppError('unreadable_document', message, { cause });

function parseInput(body: ExtractBody): DocumentInput {
  const inputs = [body.file, body.content_base64, body.text].filter((way) => way !== undefined);
  if (inputs.length !== 1)
    throw validationError([
      { path: '/file', message: 'or content_base64 or text must be given, but only one of them' },
    ]);
  if (body.text !== undefined) return { text: body.text };
  const { bytes, declared } = readInputBytes(body);
  if (bytes.length > maxFileBytes)
    throw new AppError('body_too_large', `The file is larger than ${maxFileBytes} bytes.`);
  const isKnown = declared === undefined || (mimeTypes as readonly string[]).includes(declared);
  if (!isKnown) throw new AppError('unsupported_media_type', `The file must be one of ${mimeTypes.join(', ')}.`);
  const mimeType = detectMimeType(bytes);
  if (mimeType === null) throw unreadableError('The file is neither a supported picture nor a PDF.');
  if (mimeType !== 'application/pdf') assertPixelsAllowed(bytes, mimeType);
  return { file: bytes, mimeType };
}

/** Throws 413 if a picture has too many pixels. Must run before any decoder: some kilobytes may decode to gigabytes. */
function assertPixelsAllowed(bytes: Buffer, mimeType: Parameters<typeof imageSize>[1]): void {
  const size = imageSize(bytes, mimeType);
  if (size === null) throw unreadableError('The header of the picture cannot be read.');
  const { width, height } = size;
  if (width * height > maxPixels)
    throw new AppError(
      'body_too_large',
      `The picture has ${width} x ${height} pixels. The limit is ${maxPixels / 1_000_000} million.`,
    );
}

function readInputBytes({ file, content_base64: base64, mime_type: mimeType }: ExtractBody): {
  bytes: Buffer;
  declared: string | undefined;
} {
  if (base64 !== undefined) {
    const bytes = decodeBase64(base64);
    if (bytes === null) throw validationError([{ path: '/content_base64', message: 'must be base64' }]);
    return { bytes, declared: mimeType };
  }
  const bytes: unknown = file?.bytes;
  if (!Buffer.isBuffer(bytes))
    throw validationError([{ path: '/file', message: 'must be a file of multipart/form-data' }]);
  // Clients that do not know the type send this one.
  const isUnknown = file?.mimeType === 'application/octet-stream';
  return { bytes, declared: isUnknown ? undefined : file?.mimeType };
}

type ReadResult = DocumentText & { readonly pages: number; readonly engine: string };
type DocumentExtraction = Extraction & Pick<ReadResult, 'pages' | 'engine'>;

const fromText = (text: string): ReadResult => ({ text, source: 'text', confidence: 1, pages: 1, engine: 'none' });

/**
 * Extracts fields from a file: from the text layer of a PDF if it contains any, else from its pictures. Scan programs
 * write their names below the pages, so a text layer may contain no fields.
 */
async function extractFromFile(
  { ocr }: ExtractDeps,
  { file, mimeType }: Extract<DocumentInput, { file: Buffer }>,
  understand: (read: ReadResult) => DocumentExtraction | null,
  signal: AbortSignal,
): Promise<DocumentExtraction | null> {
  const extractFromPictures = async (pictures: Pictures, pages: number): Promise<DocumentExtraction | null> =>
    understand(await readPictures(ocr, pictures, pages, signal));
  if (mimeType !== 'application/pdf') return extractFromPictures([{ content: file, mimeType }], 1);
  const { pages, text } = await readPdfContent(file, signal);
  if (hasWords(text)) {
    const understood = understand({ ...fromText(text), pages, engine: 'pdf' });
    if (understood !== null || ocr.name === 'none') return understood;
  }
  // Services of operators read whole PDFs.
  return extractFromPictures(
    ocr.name === 'tesseract' ? readPagePictures(file, pages, signal) : [{ content: file, mimeType }],
    pages,
  );
}

async function readPdfContent(file: Buffer, signal: AbortSignal): Promise<PdfContent> {
  const content = await readPdf(file, maxPages, signal);
  if (content === null) throw unreadableError('The PDF cannot be read, or exceeds the limits for reading.');
  if (content.pages <= maxPages) return content;
  throw validationError([{ path: '/file', message: `must not have more than ${maxPages} pages` }]);
}

/** Yields the picture of each page that has one, on demand. */
async function* readPagePictures(file: Buffer, pages: number, signal: AbortSignal): AsyncGenerator<Picture> {
  for (let page = 1; page <= pages; page += 1) {
    const content = await readPdfPicture(file, page, signal);
    if (content === null)
      throw unreadableError(
        `The picture on page ${page} of the PDF cannot be read, or exceeds the limits for reading (${maxPictureBytes / 1024 / 1024} MiB as PNG).`,
      );
    if (content.length > 0) yield { content, mimeType: 'image/png' };
  }
}

interface Picture {
  readonly content: Buffer;
  readonly mimeType: string;
}
type Pictures = Iterable<Picture> | AsyncIterable<Picture>;

/**
 * Reads pictures one after the other. The barcode of a licence contains all fields; without one, the engine reads the
 * text.
 */
async function readPictures(
  ocr: OcrEngine,
  pictures: Pictures,
  pages: number,
  signal: AbortSignal,
): Promise<ReadResult> {
  const results: OcrText[] = [];
  for await (const { content, mimeType } of pictures) {
    const barcode = ocr.name === 'none' ? null : await readBarcode(content, mimeType, signal);
    if (barcode !== null) return { ...fromText(barcode), pages, engine: 'barcode' };
    results.push(await ocr.read(content, mimeType, signal));
  }
  const confidence = results.reduce((sum, each) => sum + each.confidence, 0) / Math.max(1, results.length);
  return { text: results.map(({ text }) => text).join('\n'), confidence, source: 'ocr', pages, engine: ocr.name };
}
