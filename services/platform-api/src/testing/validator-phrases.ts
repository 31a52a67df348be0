import type { ErrorDetail } from '@fleet/service-kit';

/** Phrases of validators, and parts of regular expressions. */
const validatorPhrases = [
  /\bmust NOT\b/,
  /\bmust match\b/,
  /\bmust be (string|integer|number|object|array|boolean|null|equal|[<>])/,
  /\bpattern\b/i,
  /\bschema\b/i,
  /\bproperty name\b/i,
  /\ballowed values?\b/,
  /\w,null\b/,
  /[\\^$]|\(\?|\[\^|\{\d+,\d*\}/,
  /does not have the right form|another value|is invalid/,
];

/** Returns the sentences of an error that require knowledge of JSON Schema, or that contain no information. */
export const findValidatorPhrases = (error: string, details: readonly ErrorDetail[]): string[] =>
  [error, ...details.map(({ message }) => message)].filter((text) =>
    validatorPhrases.some((phrase) => phrase.test(text)),
  );

/** Returns the paths that occur in several details. */
export const findDuplicatePaths = (details: readonly ErrorDetail[]): string[] => {
  const paths = details.map(({ path }) => path);
  return paths.filter((path, at) => paths.indexOf(path) !== at);
};
