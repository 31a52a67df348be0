/** Characters by which spreadsheets recognize a formula. */
const formulaStart = /^[=+\-@\t\r]/;

/** Returns a text that no spreadsheet executes: a formula gets a leading apostrophe. Numbers stay numbers. */
export const escapeFormula = (text: string): string =>
  formulaStart.test(text) && !/^[+-]?\d+(\.\d+)?$/.test(text) ? `'${text}` : text;

/** Returns rows as CSV with CRLF, as RFC 4180 has it. */
export function formatCsv(rows: readonly (readonly string[])[]): string {
  const formatCell = (text: string): string => {
    const safe = escapeFormula(text);
    return /[",\r\n;]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return rows.map((row) => `${row.map(formatCell).join(',')}\r\n`).join('');
}

/** Returns the rows of a CSV text. The delimiter is the first comma, semicolon or tab of the text. */
export function parseCsv(text: string): string[][] {
  const source = text.replace(/^\u{FEFF}/u, '');
  const delimiter = /[,;\t]/.exec(source.split('\n', 1)[0] ?? '')?.[0] ?? ',';
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = '';
  let isQuoted = false;
  const endCell = (): void => {
    row.push(cell.replace(/^'(?=[=+\-@])/, ''));
    cell = '';
  };
  const endRow = (): void => {
    endCell();
    if (row.some((value) => value.trim() !== '')) rows.push(row);
    row = [];
  };
  for (let at = 0; at < source.length; at += 1) {
    const character = source[at] ?? '';
    if (isQuoted && character === '"' && source[at + 1] === '"') {
      cell += '"';
      at += 1;
    } else if (character === '"' && (isQuoted || cell === '')) isQuoted = !isQuoted;
    else if (isQuoted) cell += character;
    else if (character === delimiter) endCell();
    else if (character === '\n') endRow();
    else if (character !== '\r') cell += character;
  }
  if (cell !== '' || row.length > 0) endRow();
  return rows;
}
