import { AppError, parseJsonBody, type RequestContext } from '@fleet/service-kit';
import busboy from 'busboy';

/** A file in a form. */
export interface FormFile {
  readonly name: string;
  readonly mimeType: string;
  readonly bytes: Buffer;
}

/** Content of a form. The last value counts for a repeated field. */
interface Form {
  readonly fields: Readonly<Record<string, string>>;
  readonly files: readonly FormFile[];
}

const formTypes = /^(application\/x-www-form-urlencoded|multipart\/form-data)\b/i;

/** Returns true if the content type of the body is that of a form. */
export const isForm = ({ request }: RequestContext): boolean => formTypes.test(request.get('content-type') ?? '');

/** Parses a body as a form or, with any other content type, as JSON; returns undefined for an empty body. */
export async function parseJsonOrForm(bytes: Buffer, context: RequestContext): Promise<unknown> {
  if (isForm(context)) return (await parseForm(bytes, context)).fields;
  return bytes.length === 0 ? undefined : parseJsonBody(bytes);
}

const unreadableForm = (cause?: unknown): AppError =>
  new AppError('validation_failed', 'The form cannot be read.', { cause });

/** Parses a form, urlencoded or multipart. */
export function parseForm(bytes: Buffer, { request }: RequestContext): Promise<Form> {
  const fields = new Map<string, string>();
  const files: FormFile[] = [];
  return new Promise((resolve, reject) => {
    let parser: busboy.Busboy;
    try {
      const limits = { fields: 100, files: 4, fieldSize: bytes.length, fieldNameSize: 200 };
      parser = busboy({ headers: { 'content-type': request.get('content-type') ?? '' }, limits });
    } catch (cause) {
      reject(unreadableForm(cause));
      return;
    }
    parser.on('field', (name, value) => void fields.set(name, value));
    parser.on('file', (name, stream, { mimeType }) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => void chunks.push(chunk));
      stream.on('error', (cause) => reject(unreadableForm(cause)));
      stream.on('end', () => void files.push({ name, mimeType, bytes: Buffer.concat(chunks) }));
    });
    parser.on('error', (cause) => reject(unreadableForm(cause)));
    parser.on('close', () => resolve({ fields: Object.fromEntries(fields), files }));
    parser.end(bytes);
  });
}
