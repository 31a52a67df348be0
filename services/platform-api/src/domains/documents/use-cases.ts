import { validationError } from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../platform/deps.ts';
import { readBarcode } from './barcode.ts';
import { storeDocument } from './document-files.ts';
import { type FileInput, parseInput, unreadableError } from './document-input.ts';
import type { OcrEngine, OcrText } from './ocr.ts';
import { hasWords, maxPictureBytes, type PdfContent, readPdf, readPdfPicture } from './pdf.ts';
import { type DocumentText, type Extraction, extractFields, meanConfidence } from './rules.ts';
import type { ExtractBody, ExtractResult } from './schema.ts';

type ExtractDeps = Pick<Deps, 'records' | 'database' | 'encryption' | 'log' | 'ocr'>;

const maxPages = 5;
/** Documents have some hundred words. */
const maxTextLength = 100_000;

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
      ? await storeDocument(deps, caller, {
          documentType: type,
          driverId: null,
          content: input.file,
          mimeType: input.mimeType,
        })
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

type ReadResult = DocumentText & { readonly pages: number; readonly engine: string };
type DocumentExtraction = Extraction & Pick<ReadResult, 'pages' | 'engine'>;

const fromText = (text: string): ReadResult => ({ text, source: 'text', confidence: 1, pages: 1, engine: 'none' });

/**
 * Extracts fields from a file: from the text layer of a PDF if it contains any, else from its pictures. Scan programs
 * write their names below the pages, so a text layer may contain no fields.
 */
async function extractFromFile(
  { ocr }: ExtractDeps,
  { file, mimeType }: FileInput,
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
