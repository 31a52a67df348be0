import { AppError, parseJsonBody, type RequestContext } from '@fleet/service-kit';
import busboy from 'busboy';

/** A file of a form. */
export interface FormFile {
  readonly name: string;
  readonly mimeType: string;
  readonly bytes: Buffer;
}

/** What a form holds; of a field that is given twice, the last value. */
export interface Form {
  readonly fields: Readonly<Record<string, string>>;
  readonly files: readonly FormFile[];
}

const formTypes = /^(application\/x-www-form-urlencoded|multipart\/form-data)\b/i;

/** True where the body says that it is a form. */
export const isForm = ({ request }: RequestContext): boolean => formTypes.test(request.get('content-type') ?? '');

/** A body as JSON or as a form, whatever it says to be; undefined without any bytes. */
export async function parseJsonOrForm(bytes: Buffer, context: RequestContext): Promise<unknown> {
  if (isForm(context)) return (await parseForm(bytes, context)).fields;
  return bytes.length === 0 ? undefined : parseJsonBody(bytes);
}

const unreadableForm = (cause?: unknown): AppError =>
  new AppError('validation_failed', 'The form cannot be read.', { cause });

/** Reads a form, urlencoded or multipart. */
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
