import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../../..');
const tracked = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' }).split('\n');
const files = tracked.filter((file) => /\.(?:md|ts)$/.test(file));
const read = (file: string): string => readFileSync(join(root, file), 'utf8');
/** The anchor that GitHub gives a heading. */
const toAnchor = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
const anchors = (file: string): string[] =>
  [...read(file).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => toAnchor(heading));

describe('documentation', () => {
  it('has only Markdown links to files and headings that exist', () => {
    const broken = files
      .filter((file) => file.endsWith('.md') && existsSync(join(root, file)))
      .flatMap((file) =>
        [...read(file).matchAll(/\]\((?!https?:|mailto:)([^)\s]+)\)/g)].flatMap(([, link = '']) => {
          const [path = '', anchor] = link.split('#');
          const target = path === '' ? file : join(dirname(file), path);
          if (!existsSync(join(root, target))) return [`${file}: ${link}`];
          const isMissing = anchor !== undefined && target.endsWith('.md') && !anchors(target).includes(anchor);
          return isMissing ? [`${file}: ${link}`] : [];
        }),
      );
    expect(broken).toEqual([]);
  });

  it('has every reference page that the sources name', () => {
    const named = files
      .filter((file) => file.endsWith('.ts') && existsSync(join(root, file)))
      .flatMap((file) => [...read(file).matchAll(/docs\/reference\/[\w-]+\.md/g)].map(([page]) => page));
    expect([...new Set(named)].filter((page) => !existsSync(join(root, page)))).toEqual([]);
    expect(named.length).toBeGreaterThan(0);
  });

  it('names only source files that exist', () => {
    const isKnown = (path: string): boolean => tracked.some((file) => file === path || file.endsWith(`/${path}`));
    const unknown = files
      .filter((file) => file.endsWith('.md') && existsSync(join(root, file)))
      .flatMap((file) =>
        [...read(file).matchAll(/`(?:\.\.\/)*([\w-]+(?:[./][\w-]+)*\.(?:ts|mjs))`/g)].flatMap(([, path = '']) =>
          isKnown(path) ? [] : [`${file}: ${path}`],
        ),
      );
    expect(unknown).toEqual([]);
  });

  it('names only identifiers that the sources have in the recipes of CONTRIBUTING', () => {
    const recipes = read('CONTRIBUTING.md').split('## Recipes')[1] ?? '';
    const named = [...recipes.matchAll(/`([a-z]+[A-Z]\w*|[A-Z][a-z]+[A-Z]\w*)`/g)].map(([, name = '']) => name);
    const sources = tracked
      .filter((file) => /^(?:libs|services|deploy|test-e2e)\/.*\.tsx?$/.test(file) && existsSync(join(root, file)))
      .map((file) => read(file))
      .join('\n');
    expect([...new Set(named)].filter((name) => !new RegExp(`\\b${name}\\b`).test(sources))).toEqual([]);
    expect(named.length).toBeGreaterThan(0);
  });

  it('names only scripts that package.json has', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const named = files
      .filter((file) => file.endsWith('.md') && existsSync(join(root, file)))
      .flatMap((file) => [...read(file).matchAll(/\bnpm run ([\w:-]+)/g)].map(([, script = '']) => script));
    expect([...new Set(named)].filter((script) => scripts[script] === undefined)).toEqual([]);
    expect(named.length).toBeGreaterThan(0);
  });
});

describe('the metrics of docs/reference/metrics.md', () => {
  const rows = [
    ...read('docs/reference/metrics.md').matchAll(/^\| `(\S+)` \| (\w+) \| [^|]+ \| ([^|]*) \| [^|]+ \| (.+) \|$/gm),
  ];
  const metrics = rows.map(([, name = '', type, labels = '', meaning]) => ({ name, type, labels, meaning }));

  it('have names by the conventions of Prometheus', () => {
    const isGood = ({ name, type }: (typeof metrics)[number]): boolean =>
      /^[a-z][a-z0-9]*(?:_[a-z0-9]+)+$/.test(name) &&
      name.endsWith('_total') === (type === 'counter') &&
      !/_(?:ms|millis|milliseconds|minutes|hours|kb|mb|percent|count|sum|bucket)(?:_|$)/.test(name);
    expect(metrics.length).toBeGreaterThan(50);
    expect(metrics.filter((metric) => !isGood(metric))).toEqual([]);
  });

  it('have labels in snake case that no name repeats, and a meaning', () => {
    const isGood = ({ name, labels, meaning }: (typeof metrics)[number]): boolean =>
      [...labels.matchAll(/`([^`]+)`/g)].every(
        ([, label = '']) => /^[a-z]+(?:_[a-z]+)*$/.test(label) && !name.includes(`_by_${label}`),
      ) && meaning !== undefined;
    expect(metrics.filter((metric) => !isGood(metric))).toEqual([]);
  });

  it('are those that the sources define', () => {
    const defined = files
      .filter(
        (file) => /^(?:libs|services)\/.*\.ts$/.test(file) && !file.includes('.test.') && existsSync(join(root, file)),
      )
      .flatMap((file) =>
        [...read(file).matchAll(/\bname: '([a-z0-9]+(?:_[a-z0-9]+)+)',\s*help:/g)].map(([, name = '']) => name),
      );
    const listed = new Set(metrics.map(({ name }) => name));
    expect(defined.filter((name) => !listed.has(name))).toEqual([]);
    expect(defined.length).toBeGreaterThan(0);
  });
});

interface Operation {
  readonly operationId?: string;
  readonly summary?: string;
  readonly description?: string;
}

/** First words of summaries that are no imperatives. */
const noImperative = /^(?:a|an|the|this|returns|gets|lists|creates|sends|starts|stops|get\w*ing)$/i;

describe.each([
  'device-api/openapi.json',
  'device-api/partner-openapi.json',
  'device-api/video-openapi.json',
  'platform-api/openapi.json',
])('the operations of %s', (file) => {
  const document = JSON.parse(read(`services/${file}`)) as { paths: Record<string, Record<string, Operation>> };
  const operations = Object.values(document.paths)
    .flatMap((methods) => Object.values(methods))
    .filter(({ operationId }) => operationId !== undefined);

  it('have imperative summaries of at most six words, without a period', () => {
    const isGood = ({ summary = '' }: Operation): boolean => {
      const words = summary.split(' ');
      return (
        /^[A-Z][\w-]*,? ?/.test(summary) &&
        words.length <= 6 &&
        !summary.endsWith('.') &&
        !noImperative.test(words[0] ?? '')
      );
    };
    expect(operations.length).toBeGreaterThan(0);
    expect(operations.filter((operation) => !isGood(operation)).map(({ summary }) => summary)).toEqual([]);
  });

  it('have descriptions in the words of the glossary', () => {
    const privateWords = /\b(?:tell|tells|told|anew|whoever|meanwhile|nobody|somebody|can not|so many|of before)\b/i;
    const texts = operations.flatMap(({ summary = '', description = '' }) => [summary, description]);
    expect(texts.filter((text) => privateWords.test(text))).toEqual([]);
    expect(operations.filter(({ description }) => description === undefined)).toEqual([]);
  });
});
