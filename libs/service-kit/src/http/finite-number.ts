const jsonNumberPattern = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

/**
 * Parses a finite JSON number, such as the `0.30000000000000004` and `1e-7` that programs print; undefined for other
 * text.
 */
export function parseFiniteNumber(text: string): number | undefined {
  const value = jsonNumberPattern.test(text) ? Number(text) : Number.NaN;
  return Number.isFinite(value) ? value : undefined;
}
