// Checks identifiers, comments, test titles and documents against scripts/vocabulary.mjs. Prints the words to replace
// and exits with 1 if there are any.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './steps.mjs';
import { tokens } from './structure/comment-words.mjs';
import { allowedFields, identifierWords, phrases } from './vocabulary.mjs';

const ignored =
  /^(?:scripts\/vocabulary\.mjs|docs\/glossary\.md|pnpm-lock\.yaml|libs\/api-client\/src\/(?:platform-api|request-schemas)\.ts)$/;
const testTitle = /\b(?:describe|it|test)(?:\.\w+)*\($/;

/** Returns the words of a camelCase name in lower case; none of a snake_case name, which is a data field. */
const splitName = (name) =>
  name.includes('_') ? [] : (name.replace(/^#/, '').match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g) ?? []);

function checkPhrases(text, at, report) {
  for (const { pattern, use } of phrases) {
    const match = pattern.exec(text);
    if (match !== null) report(at + match.index, match[0], use);
  }
}

/** Returns whether the name at a position is a field that is allowed in this file: `.name`, `name:` or `name?:`. */
const isAllowedField = (file, text, at, name) =>
  (text[at - 1] === '.' || /^\??:/.test(text.slice(at + name.length, at + name.length + 2))) &&
  allowedFields.some(({ names, files: allowedIn }) => names.includes(name) && allowedIn.test(file));

function checkName(name, at, report) {
  for (const word of splitName(name)) {
    const use = Object.hasOwn(identifierWords, word.toLowerCase()) ? identifierWords[word.toLowerCase()] : undefined;
    if (use !== undefined) report(at, name, use);
  }
}

function checkSource(file, text, report) {
  for (const match of text.matchAll(tokens)) {
    const { comment, string, template, name } = match.groups;
    if (comment !== undefined) checkPhrases(comment, match.index, report);
    else if (name !== undefined) {
      if (!isAllowedField(file, text, match.index, name)) checkName(name, match.index, report);
    } else if (
      (string ?? template) !== undefined &&
      testTitle.test(text.slice(Math.max(0, match.index - 40), match.index).trimEnd())
    )
      checkPhrases(string ?? template, match.index, report);
  }
}

/** Checks the prose of a document; code blocks and code spans are ignored. */
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
  const report = (at, found, use) => {
    hits.push(`${file}:${text.slice(0, at).split('\n').length}: "${found}": use ${use}`);
  };
  if (file.endsWith('.md')) checkDocument(text, report);
  else checkSource(file, text, report);
}

if (hits.length > 0) console.log(`${hits.join('\n')}\n${hits.length} words to replace (docs/glossary.md)`);
process.exitCode = hits.length > 0 ? 1 : 0;
