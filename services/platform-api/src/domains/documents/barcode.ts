import { parseAamva } from './aamva.ts';
import { runSandboxed } from './sandbox.ts';

const program = new URL('../../../programs/read-barcode.mjs', import.meta.url);
const limits = { timeoutMs: 10_000, memoryBytes: 768 * 1024 * 1024, outputBytes: 64 * 1024 };

/** The text of the PDF417 barcode in a picture, where that is one of a licence; null for any other picture, and for kinds of pictures that the reader does not know. */
export async function readBarcode(picture: Buffer, mimeType: string, signal: AbortSignal): Promise<string | null> {
  if (mimeType !== 'image/jpeg' && mimeType !== 'image/png') return null;
  const text = (await runSandboxed(program, [], picture, limits, signal))?.toString() ?? '';
  return parseAamva(text) === null ? null : text;
}
