import { runSandboxed } from './sandbox.ts';

/** The content of a PDF. */
export interface PdfContent {
  readonly pages: number;
  /** The text layer; empty if the file has too many pages. */
  readonly text: string;
}

const program = new URL('../../../programs/read-pdf.mjs', import.meta.url);
/** An A4 page at 400 dpi has 15.5 million pixels. */
const maxPixels = 20_000_000;
const runLimits = { timeoutMs: 20_000, memoryBytes: 768 * 1024 * 1024 };
/** Five pages of small print have some 50,000 letters. */
const maxTextBytes = 4 * 1024 * 1024;

/** Largest size of a page's picture as PNG. An A4 page in colour at 300 dpi has 26 MB before compression. */
export const maxPictureBytes = 32 * 1024 * 1024;

/** Returns whether a text contains words, not only page numbers. */
export const hasWords = (text: string): boolean => /\p{L}{2}/u.test(text);

/** Reads a PDF in a separate process. Returns null if it cannot be read within the limits of that process. */
export async function readPdf(file: Buffer, maxPages: number, signal: AbortSignal): Promise<PdfContent | null> {
  const limits = { ...runLimits, outputBytes: maxTextBytes };
  const output = await runSandboxed(program, ['text', String(maxPages), String(maxPixels)], file, limits, signal);
  return output === null ? null : (JSON.parse(output.toString()) as PdfContent);
}

/**
 * Returns the largest picture of a page (from 1) as PNG, read in a separate process. The buffer is empty if the page
 * has no picture. Returns null if the page cannot be read within the limits of that process. Pages are read one at a
 * time, since all pictures together would need too much memory.
 */
export async function readPdfPicture(file: Buffer, page: number, signal: AbortSignal): Promise<Buffer | null> {
  const limits = { ...runLimits, outputBytes: maxPictureBytes };
  return runSandboxed(program, ['picture', String(page), String(maxPixels)], file, limits, signal);
}
