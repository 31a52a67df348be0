import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** Values to use for parameters of a name (`imei`, `body.text`), and their share of the requests (1: always). */
export type KnownValues = Record<string, { values: readonly (string | number)[]; share: number }>;

export interface FuzzOptions {
  /** OpenAPI document. */
  document: object;
  /** Base URL of its paths. */
  baseUrl: string;
  seed: number;
  /** Number of cases generated for each operation, in addition to those at the bounds of the schemas. */
  examples: number;
  known: KnownValues;
  /** Settings by operation id. */
  operations: Record<string, OperationSettings>;
  /** Headers of every request. */
  headers?: Readonly<Record<string, string>>;
  /** File in `contract-fuzz/` with settings that precede these. Default: those of the Device API. */
  settingsFile?: string;
}

/** Settings of one operation. */
interface OperationSettings {
  /** Its parameters have rules that a schema cannot express: 400 is valid for a request that matches the document. */
  hasFurtherRules?: boolean;
  known?: KnownValues;
}

/** Counts of the requests to one operation. */
interface OperationCount {
  positive: number;
  negative: number;
  statuses: Record<string, number>;
}

interface FuzzResult {
  exitCode: number | null;
  output: string;
  operations: Map<string, OperationCount>;
}

/** `npm test` installs it; other runs look for it in the same folder. */
function program(): { python: string; home: string } {
  const home = process.env['SCHEMATHESIS_HOME'] ?? resolve('.cache/schemathesis');
  if (!existsSync(home)) throw new Error(`schemathesis is not installed in ${home}. Run npm test to install it.`);
  return { python: process.env['SCHEMATHESIS_PYTHON'] ?? 'python3', home };
}

/**
 * Formats known values as TOML, whose strings, numbers and lists are written as in JSON: the lists, and the parameters
 * that use them.
 */
function dictionaries(scope: string, known: KnownValues): { lists: string[]; uses: string[] } {
  const entries = Object.entries(known).map(([name, value]) => ({ ...value, name, list: `${scope} ${name}` }));
  return {
    lists: entries.map(
      ({ list, values }) => `[dictionaries.${JSON.stringify(list)}]\nvalues = ${JSON.stringify(values)}`,
    ),
    uses: entries.map(
      ({ name, list, share }) =>
        `${JSON.stringify(name)} = { dictionary = ${JSON.stringify(list)}, probability = ${share} }`,
    ),
  };
}

function settings({ known, operations, settingsFile = 'schemathesis.toml' }: FuzzOptions): string {
  const everywhere = dictionaries('any', known);
  const single = Object.entries(operations).map(([id, { hasFurtherRules, known: own = {} }]) => {
    const { lists, uses } = dictionaries(id, own);
    const table = [
      '[[operations]]',
      `include-operation-id = ${JSON.stringify(id)}`,
      `checks.positive_data_acceptance.enabled = ${hasFurtherRules !== true}`,
      '[operations.parameters]',
      ...uses,
    ];
    return { lists, table };
  });
  return [
    readFileSync(resolve('test-e2e/contract-fuzz', settingsFile), 'utf8'),
    ...everywhere.lists,
    ...single.flatMap(({ lists }) => lists),
    '[parameters]',
    ...everywhere.uses,
    ...single.flatMap(({ table }) => table),
  ].join('\n');
}

/** Runs schemathesis for an OpenAPI document against a server. */
export async function fuzz(options: FuzzOptions): Promise<FuzzResult> {
  const { python, home } = program();
  const folder = mkdtempSync(join(tmpdir(), 'fleet-fuzz-'));
  const config = join(folder, 'schemathesis.toml');
  const report = join(folder, 'report.ndjson');
  const document = join(folder, 'openapi.json');
  writeFileSync(config, settings(options));
  writeFileSync(document, JSON.stringify(options.document));
  const args = ['-m', 'schemathesis.cli', '--config-file', config, 'run', document, '--url', options.baseUrl];
  const limits = [`--seed=${options.seed}`, `--max-examples=${options.examples}`];
  const headers = Object.entries(options.headers ?? {}).map(([name, value]) => `--header=${name}: ${value}`);
  const child = spawn(python, [...args, ...limits, ...headers, `--report-ndjson-path=${report}`, '--no-color'], {
    cwd: folder,
    env: { ...process.env, PYTHONPATH: home, PYTHONDONTWRITEBYTECODE: '1', NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const chunks: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  try {
    const exitCode = await new Promise<number | null>((done, fail) => {
      child.once('error', fail);
      child.once('close', done);
    });
    const output = Buffer.concat(chunks).toString('utf8');
    return { exitCode, output, operations: existsSync(report) ? countCases(report) : new Map() };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Subset of schemathesis' events that is used. */
interface ScenarioFinished {
  recorder: {
    label: string;
    cases?: Record<
      string,
      { value?: { method: string; path: string; meta?: { generation?: { mode?: 'positive' | 'negative' } } } }
    >;
    interactions?: Record<string, { response?: { status_code: number } | null }>;
  };
}

function countCases(report: string): Map<string, OperationCount> {
  const counts = new Map<string, OperationCount>();
  for (const line of readFileSync(report, 'utf8').split('\n')) {
    const { ScenarioFinished: finished } = JSON.parse(line || '{}') as { ScenarioFinished?: ScenarioFinished };
    if (finished === undefined) continue;
    const { label, cases = {}, interactions = {} } = finished.recorder;
    for (const [id, { value }] of Object.entries(cases)) {
      // Events for several operations in a row have another kind of label.
      const operation = / \//.test(label) ? label : `${value?.method} ${value?.path}`;
      const count = counts.get(operation) ?? { positive: 0, negative: 0, statuses: {} };
      counts.set(operation, count);
      const mode = value?.meta?.generation?.mode;
      if (mode !== undefined) count[mode] += 1;
      const status = interactions[id]?.response?.status_code ?? 0;
      count.statuses[status] = (count.statuses[status] ?? 0) + 1;
    }
  }
  return counts;
}

/** Formats a table of the requests for the log of a test run. */
export function formatCounts({ operations }: FuzzResult): string {
  const rows = [...operations].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const lines = rows.map(([label, { positive, negative, statuses }]) => {
    const byStatus = Object.entries(statuses).map(([status, count]) => `${status}: ${count}`);
    return `${label.padEnd(42)} ${positive} positive, ${negative} negative (${byStatus.join(', ')})`;
  });
  const total = rows.reduce((sum, [, { positive, negative }]) => sum + positive + negative, 0);
  return [`${rows.length} operations, ${total} cases`, ...lines].join('\n');
}
