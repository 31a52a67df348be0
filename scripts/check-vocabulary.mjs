// Checks identifiers, comments, test titles and documents against scripts/vocabulary.mjs. Prints each hit with its place and the term to use; exits with 1 if there is one.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './steps.mjs';
import { allowed, identifierWords, phrases } from './vocabulary.mjs';

/** Matches what a source file consists of, in the order in which the alternatives have to be tried. */
const tokens =
  /(?<comment>\/\/[^\n]*|\/\*[\s\S]*?\*\/)|(?<string>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")|(?<template>`(?:[^`\\]|\\.)*`)|(?<regexp>(?<=[(,=:[!&|?{};\n>]\s*)\/(?![*/])(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[dgimsuvy]*)|(?<name>[#$A-Z_a-z][\w$]*)/g;

const ignored = /^(?:scripts\/vocabulary\.mjs|docs\/glossary\.md|pnpm-lock\.yaml)$/;
const testTitle = /\b(?:describe|it|test)(?:\.\w+)*\($/;

/** Returns the words of a camelCase name in lower case; none of a snake_case name, which is the name of a data field. */
const splitName = (name) =>
  name.includes('_') ? [] : (name.replace(/^#/, '').match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g) ?? []);

function checkPhrases(text, at, report) {
  for (const { pattern, use } of phrases) {
    const match = pattern.exec(text);
    if (match !== null) report(at + match.index, match[0], use);
  }
}

function checkName(name, at, report) {
  if (allowed.has(name.replace(/^#/, ''))) return;
  for (const word of splitName(name)) {
    const use = Object.hasOwn(identifierWords, word.toLowerCase()) ? identifierWords[word.toLowerCase()] : undefined;
    if (use !== undefined) report(at, name, use);
  }
}

function checkSource(text, report) {
  for (const match of text.matchAll(tokens)) {
    const { comment, string, template, name } = match.groups;
    if (comment !== undefined) checkPhrases(comment, match.index, report);
    else if (name !== undefined) checkName(name, match.index, report);
    else if (
      (string ?? template) !== undefined &&
      testTitle.test(text.slice(Math.max(0, match.index - 40), match.index).trimEnd())
    )
      checkPhrases(string ?? template, match.index, report);
  }
}

/** Checks the prose of a document: code blocks and code spans may quote anything. */
function checkDocument(text, report) {
  const prose = text.replace(/^```[\s\S]*?^```|`[^`\n]*`/gm, (code) => code.replace(/[^\n]/g, ' '));
  prose.split('\n').reduce((at, line) => {
    checkPhrases(line, at, report);
    return at + line.length + 1;
  }, 0);
}

const files = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' }).split('\n');
const hits = [];
for (const file of files.filter((name) => /\.(?:ts|tsx|mjs|md)$/.test(name) && !ignored.test(name))) {
  const text = readFileSync(join(root, file), 'utf8');
  const report = (at, found, use) =>
    hits.push(`${file}:${text.slice(0, at).split('\n').length}: "${found}": use ${use}`);
  (file.endsWith('.md') ? checkDocument : checkSource)(text, report);
}
for (const hit of hits) console.log(hit);
console.log(`${hits.length} words that docs/glossary.md replaces in ${files.length} files`);
process.exit(hits.length === 0 ? 0 : 1);
