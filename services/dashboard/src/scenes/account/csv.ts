/** Characters with which spreadsheets begin a formula. */
const formulaStart = /^[=+\-@\t\r]/;

/** Returns a cell: never a formula, quoted if necessary (RFC 4180). */
export function toCsvCell(value: string | number | null): string {
  if (value === null) return '';
  const text = String(value);
  const safe = typeof value === 'string' && formulaStart.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Returns a table as CSV with CRLF line ends. */
export const toCsv = (rows: readonly (readonly (string | number | null)[])[]): string =>
  rows.map((row) => `${row.map(toCsvCell).join(',')}\r\n`).join('');
