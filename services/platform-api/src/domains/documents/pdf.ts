import { runSandboxed } from './sandbox.ts';

/** What a PDF holds. */
export interface PdfContent {
  readonly pages: number;
  /** Of its text layer; empty where it has more pages than it may. */
  readonly text: string;
}

const program = new URL('../../../programs/read-pdf.mjs', import.meta.url);
/** A page of A4 at 400 dots an inch has 15.5 million. */
const maxPixels = 20_000_000;
const runLimits = { timeoutMs: 20_000, memoryBytes: 768 * 1024 * 1024 };
/** Five pages of small print have some 50 thousand letters. */
const maxTextBytes = 4 * 1024 * 1024;

/** Largest picture of a page that is read, as PNG: an A4 page in colours at 300 dots an inch has 26 MB before it is packed. */
export const maxPictureBytes = 32 * 1024 * 1024;

/** True for a text that has words, and not only page numbers. */
export const hasWords = (text: string): boolean => /\p{L}{2}/u.test(text);

/** Reads a PDF in a process of its own; null for one that cannot be read, or not within what that process may take. */
export async function readPdf(file: Buffer, maxPages: number, signal: AbortSignal): Promise<PdfContent | null> {
  const limits = { ...runLimits, outputBytes: maxTextBytes };
  const output = await runSandboxed(program, ['text', String(maxPages), String(maxPixels)], file, limits, signal);
  return output === null ? null : (JSON.parse(output.toString()) as PdfContent);
}

/**
 * The largest picture of a page (from 1) as PNG, in a process of its own; empty where the page has none, null where it cannot be read, or not within what that
 * process may take. One page at a time: all of them together would be too much to hold here.
 */
export async function readPdfPicture(file: Buffer, page: number, signal: AbortSignal): Promise<Buffer | null> {
  const limits = { ...runLimits, outputBytes: maxPictureBytes };
  return runSandboxed(program, ['picture', String(page), String(maxPixels)], file, limits, signal);
}
