// The lengths of functions in lines. The blocks of `describe` are left out: they group tests. Tables are
// marked: functions that mostly consist of one array or object that they return.
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
  if (node.type === 'CallExpression' && calledName(node.callee)?.startsWith('describe')) {
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

/** Returns whether the array or object that a function returns has at least four fifths of its lines. */
function isTable({ body }, lines, countLines) {
  let value = body?.stmts === undefined ? body : body.stmts.at(-1)?.argument;
  while (value?.expression !== undefined) value = value.expression;
  if (value?.type !== 'ArrayExpression' && value?.type !== 'ObjectExpression') return false;
  return countLines(value.span) >= lines * 0.8;
}

/** Returns the functions of a file with at least `minLines` lines. */
export function findLongFunctions({ path, text, isTest }, minLines) {
  const program = parseSync(text, { syntax: 'typescript', tsx: path.endsWith('.tsx'), target: 'es2022' });
  const lineAt = lineCounter(text);
  const found = [];
  const countLines = (span) => lineAt(span.end) - lineAt(span.start) + 1;
  visitFunctions(program.body, undefined, (node, name = 'anonymous') => {
    const lines = countLines(node.span);
    if (lines < minLines) return;
    found.push({ path, line: lineAt(node.span.start), name, lines, isTest, isTable: isTable(node, lines, countLines) });
  });
  return found;
}
