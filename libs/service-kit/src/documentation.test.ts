import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../../..');
const files = execFileSync('git', ['ls-files', '*.md', '*.ts'], { cwd: root, encoding: 'utf8' }).split('\n');
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
});
