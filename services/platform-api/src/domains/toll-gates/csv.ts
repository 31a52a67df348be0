import { CsvError, parse } from 'csv-parse/sync';

/** Returns the rows of comma-separated values (RFC 4180) without blank rows; unquoted fields are trimmed. Throws for misplaced quotes. */
export function readCsv(text: string): string[][] {
  try {
    return parse(text, {
      bom: true,
      trim: true,
      record_delimiter: ['\r\n', '\n', '\r'],
      relax_column_count: true,
      skip_records_with_empty_values: true,
    });
  } catch (error) {
    if (error instanceof CsvError) throw new Error(`could not read the CSV file: ${error.message}`, { cause: error });
    throw error;
  }
}
