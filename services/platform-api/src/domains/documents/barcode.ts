import { parseAamva } from './aamva.ts';
import { runSandboxed } from './sandbox.ts';

const program = new URL('../../../programs/read-barcode.mjs', import.meta.url);
const limits = { timeoutMs: 10_000, memoryBytes: 768 * 1024 * 1024, outputBytes: 64 * 1024 };

/**
 * Returns the text of the PDF417 barcode in a picture if it is a licence. Returns null for other pictures and for
 * formats that the reader does not support.
 */
export async function readBarcode(picture: Buffer, mimeType: string, signal: AbortSignal): Promise<string | null> {
  if (mimeType !== 'image/jpeg' && mimeType !== 'image/png') return null;
  const text = (await runSandboxed(program, [], picture, limits, signal))?.toString() ?? '';
  return parseAamva(text) === null ? null : text;
}
