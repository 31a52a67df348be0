import { AppError, validationError } from '@fleet/service-kit';
import { decodeBase64 } from './base64.ts';
import { imageSize } from './image-size.ts';
import { detectMimeType } from './rules.ts';
import { type CreateDocumentBody, type ExtractBody, mimeTypes } from './schema.ts';

/** Largest file (docs/reference/documents-and-messages.md). */
const maxFileBytes = 10 * 1024 * 1024;
/** Phone cameras have some 12 million pixels, the best of them 50 million. */
const maxPixels = 50_000_000;

/** A file whose type and size are permitted. */
export interface FileInput {
  readonly file: Buffer;
  readonly mimeType: NonNullable<ReturnType<typeof detectMimeType>>;
}

/** The input of a request: a file, or text that the client has read. */
type DocumentInput = FileInput | { readonly text: string };

/** Creates the error 422. */
export const unreadableError = (message: string, cause?: unknown): AppError =>
  new AppError('unreadable_document', message, { cause });

/** Returns the one input of a request. Throws 400 for none or several, and like `parseFile`. */
export function parseInput(body: ExtractBody): DocumentInput {
  const inputs = [body.file, body.content_base64, body.text].filter((way) => way !== undefined);
  if (inputs.length !== 1)
    throw validationError([
      { path: '/file', message: 'or content_base64 or text must be given, but only one of them' },
    ]);
  return body.text === undefined ? parseFile(body) : { text: body.text };
}

/** Returns the file of a request. Throws 413, 415 or 422 for one that is not permitted. */
export function parseFile(body: CreateDocumentBody | ExtractBody): FileInput {
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

function readInputBytes({
  file,
  content_base64: base64,
  mime_type: mimeType,
}: Pick<ExtractBody, 'file' | 'content_base64' | 'mime_type'>): { bytes: Buffer; declared: string | undefined } {
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
