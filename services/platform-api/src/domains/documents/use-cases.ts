import { AppError, invalid } from '@fleet/service-kit';
import { extractText, getDocumentProxy } from 'unpdf';
import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../deps.ts';
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
  let pages = 1;
  if (mimeType === 'application/pdf') {
    const layer = await pdfText(file);
    pages = layer.pages;
    if (/\p{L}{2}/u.test(layer.text)) return { ...ofText(layer.text), pages, engine: 'pdf' };
    if (ocr.name === 'tesseract') throw unreadable('The PDF has no text: send pictures of its pages.');
  }
  const { text, confidence } = await ocr.read(file, mimeType);
  return { text, confidence, source: 'ocr', pages, engine: ocr.name };
}

async function pdfText(file: Buffer): Promise<{ text: string; pages: number }> {
  let pdf: Awaited<ReturnType<typeof getDocumentProxy>>;
  try {
    pdf = await getDocumentProxy(new Uint8Array(file), { verbosity: 0 });
  } catch (cause) {
    throw unreadable('The PDF can not be read.', cause);
  }
  try {
    if (pdf.numPages > maxPages)
      throw invalid([{ path: '/file', message: `must not have more than ${maxPages} pages` }]);
    const { text } = await extractText(pdf);
    return { text: text.join('\n'), pages: pdf.numPages };
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    throw unreadable('The PDF can not be read.', cause);
  } finally {
    await pdf.cleanup();
  }
}
