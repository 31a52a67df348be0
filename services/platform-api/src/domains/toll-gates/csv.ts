/** Reads comma-separated values as RFC 4180 has them: a row of fields for each record, quotes taken off. */
export function readCsv(text: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  const fields = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|\n|\r|$)/y;
  const source = text.replace(/^\uFEFF/, '');
  while (fields.lastIndex < source.length) {
    const at = fields.lastIndex;
    const found = fields.exec(source);
    if (found === null) throw new Error(`the CSV file can not be read at character ${at}`);
    const [, quoted, plain = '', end] = found;
    row.push(quoted === undefined ? plain.trim() : quoted.replaceAll('""', '"'));
    if (end === ',') {
      if (fields.lastIndex === source.length) row.push('');
      else continue;
    }
    if (row.some((field) => field !== '')) rows.push(row);
    row = [];
  }
  if (row.length > 0) rows.push(row);
  return rows;
}
