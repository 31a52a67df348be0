import Papa from 'papaparse';

/** A cell of a table. Null is an empty cell. */
type Cell = string | number | null;

/** Characters by which spreadsheets recognize a formula, unless the text is a number. */
const formulaStart = /^(?![+-]?\d+(\.\d+)?$)[=+\-@\t\r]/;

/** Returns rows as CSV with CRLF (RFC 4180). A text that a spreadsheet would execute gets a leading apostrophe. */
export function formatCsv(rows: readonly (readonly Cell[])[]): string {
  const escapeFormula = (cell: Cell): Cell => (formulaStart.test(String(cell ?? '')) ? `'${cell}` : cell);
  return `${Papa.unparse(
    rows.map((row) => row.map(escapeFormula)),
    { newline: '\r\n' },
  )}\r\n`;
}

/** Returns the rows of a CSV text. The delimiter is the first comma, semicolon or tab of its first line. */
export function parseCsv(text: string): string[][] {
  const delimiter = /[,;\t]/.exec(text.split('\n', 1)[0] ?? '')?.[0] ?? ',';
  const { data } = Papa.parse<string[]>(text, { delimiter, skipEmptyLines: 'greedy' });
  return data.map((row) => row.map((cell) => cell.replace(/^'(?=[=+\-@])/, '')));
}
