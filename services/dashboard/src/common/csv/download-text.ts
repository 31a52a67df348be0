import { downloadBlob } from '../data/download-blob.ts';

/** Saves a text as a file of the browser. */
export const downloadText = (name: string, text: string, type = 'text/csv;charset=utf-8'): void =>
  downloadBlob(name, new Blob([text], { type }));
