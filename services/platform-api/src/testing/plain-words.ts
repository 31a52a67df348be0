import type { ErrorDetail } from '@fleet/service-kit';

/** Phrases of validators, and pieces of regular expressions. */
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

/** Returns the sentences of an error that only readers of JSON Schema understand, or that say nothing. */
export const wordsOfValidator = (error: string, details: readonly ErrorDetail[]): string[] =>
  [error, ...details.map(({ message }) => message)].filter((text) =>
    validatorPhrases.some((phrase) => phrase.test(text)),
  );

/** Returns the paths that several details have. */
export const fieldsNamedTwice = (details: readonly ErrorDetail[]): string[] => {
  const paths = details.map(({ path }) => path);
  return paths.filter((path, at) => paths.indexOf(path) !== at);
};
