/** Returns the value below which a share of the values lies. */
export const percentile = (values, share) =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))];

/** Returns a time or count without decimals. */
export const formatInteger = (value) => Math.round(value).toLocaleString('en');
