// The lengths of functions in lines. The blocks of `describe` are left out: they group tests.
import { parseSync } from '@swc/core';

const functionTypes = new Set([
  'ArrowFunctionExpression',
  'ClassMethod',
  'Constructor',
  'FunctionDeclaration',
  'FunctionExpression',
  'GetterProperty',
  'MethodProperty',
  'PrivateMethod',
  'SetterProperty',
]);

/** Returns the name of the function that a call names, such as `describe` in `describe.each(...)(...)`. */
function calledName(node) {
  if (node.type === 'CallExpression') return calledName(node.callee);
  if (node.type === 'MemberExpression') return calledName(node.object);
  return node.type === 'Identifier' ? node.value : undefined;
}

const nameIn = (node) => (node.identifier ?? node.key?.id ?? node.key ?? node.id)?.value;

/** Calls `visit` with each function below a node and the name closest to it. */
function visitFunctions(node, name, visit) {
  if (Array.isArray(node)) {
    for (const item of node) visitFunctions(item, name, visit);
    return;
  }
  if (node === null || typeof node !== 'object') return;
  if (functionTypes.has(node.type)) visit(node, nameIn(node) ?? (node.type === 'Constructor' ? 'constructor' : name));
  if (node.type === 'CallExpression' && calledName(node.callee) === 'describe') {
    for (const { expression } of node.arguments) visitFunctions(expression.body, name, visit);
    return;
  }
  const ownName = nameIn(node) ?? name;
  for (const [key, child] of Object.entries(node)) if (key !== 'span') visitFunctions(child, ownName, visit);
}

/** Returns a function from the compiler's one-based byte offset to a line number. */
function lineCounter(text) {
  const bytes = Buffer.from(text);
  return (offset) =>
    bytes
      .subarray(0, offset - 1)
      .toString('latin1')
      .split('\n').length;
}

/** Returns the functions of a file with at least `minLines` lines. */
export function findLongFunctions({ path, text, isTest }, minLines) {
  const program = parseSync(text, { syntax: 'typescript', tsx: path.endsWith('.tsx'), target: 'es2022' });
  const lineAt = lineCounter(text);
  const found = [];
  visitFunctions(program.body, undefined, ({ span }, name) => {
    const start = lineAt(span.start);
    const lines = lineAt(span.end) - start + 1;
    if (lines >= minLines) found.push({ path, line: start, name: name ?? 'anonymous', lines, isTest });
  });
  return found;
}
