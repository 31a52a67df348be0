import { runProgram } from './program.ts';

/** What a PDF holds. */
export interface PdfContent {
  readonly pages: number;
  /** Of its text layer; empty where it has more pages than it may. */
  readonly text: string;
  /** Of each page the largest one, as PNG, where pictures were asked for. */
  readonly pictures: readonly Buffer[];
}

const program = new URL('../../../programs/read-pdf.mjs', import.meta.url);
/** A page of A4 at 400 dots an inch has 15.5 million. */
const maxPixels = 20_000_000;
const limits = { timeoutMs: 20_000, memoryBytes: 768 * 1024 * 1024, outputBytes: 128 * 1024 * 1024 };

/** True for a text that has words, and not only page numbers. */
export const hasWords = (text: string): boolean => /\p{L}{2}/u.test(text);

/** Reads a PDF in a process of its own; null for one that can not be read, or not within what that process may take. */
export async function readPdf(
  file: Buffer,
  { maxPages, withPictures }: { readonly maxPages: number; readonly withPictures: boolean },
): Promise<PdfContent | null> {
  const args = [String(maxPages), String(maxPixels), ...(withPictures ? ['--pictures'] : [])];
  const output = await runProgram(program, args, file, limits);
  if (output === null) return null;
  const { pages, text, pictures } = JSON.parse(output.toString()) as PdfAnswer;
  return { pages, text, pictures: pictures.map((picture) => Buffer.from(picture, 'base64')) };
}

interface PdfAnswer {
  readonly pages: number;
  readonly text: string;
  readonly pictures: readonly string[];
}
