// How often some private words occur in comments.

/** Matches the tokens of a source file. The order of the alternatives matters. */
export const tokens =
  /(?<comment>\/\/[^\n]*|\/\*[\s\S]*?\*\/)|(?<string>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")|(?<template>`(?:[^`\\]|\\.)*`)|(?<regexp>(?<=[(,=:[!&|?{};\n>]\s*)\/(?![*/])(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[dgimsuvy]*)|(?<name>[#$A-Z_a-z][\w$]*)/g;

const countedWords = {
  'tell, told, ask, answer':
    /^(?:un)?(?:tell|tells|told|telling|ask|asks|asked|asking|answer|answers|answered|answering)$/,
  'anew, whoever': /^(?:anew|whoever)$/,
  'behind, kept': /^(?:behind|kept)$/,
};

/** Returns the number of words in the comments of files, and how often each counted word occurs in 10,000 of them. */
export function measureCommentWords(files) {
  const words = files
    .flatMap(({ text }) => [...text.matchAll(tokens)])
    .flatMap(({ groups }) => groups.comment?.toLowerCase().match(/[a-z']+/g) ?? []);
  const rates = Object.entries(countedWords).map(([name, pattern]) => ({
    name,
    per10000: (words.filter((word) => pattern.test(word)).length / words.length) * 10_000,
  }));
  return { wordCount: words.length, rates };
}
