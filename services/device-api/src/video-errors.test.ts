import { readFileSync } from 'node:fs';
import { errorCodes } from '@fleet/service-kit';
import { describe, expect, it } from '@jest/globals';
import { createVideoDocument } from './api-document.ts';

/** Names of the URLs in the table of docs/video.md, by operation. */
const urlByOperation: Readonly<Record<string, string>> = {
  watchStream: 'flv',
  readPlaylist: 'hls',
  readHlsFile: 'hls',
  watchSharedStream: 'guest',
  readSharedPlaylist: 'guest',
  readSharedHlsFile: 'guest',
  talk: 'talk',
  startStream: 'start',
};
/** Statuses of broken requests, which the text below the table names. */
const commonStatuses = new Set([408, 413, 415, 431]);

interface Row {
  readonly status: number;
  readonly codes: string[];
  readonly urls: string[];
}

/** Returns the rows of the first table below "Errors". */
function readRows(): Row[] {
  const text = readFileSync(new URL('../../../docs/video.md', import.meta.url), 'utf8');
  const section = text.slice(text.indexOf('## Errors'));
  const table = section.slice(section.indexOf('| Status | Code | URLs'), section.indexOf('\nEvery URL'));
  return table
    .split('\n')
    .filter((line) => /^\| \d/.test(line))
    .map((line) => {
      const [, status = '', codes = '', urls = ''] = line.split('|').map((cell) => cell.trim());
      return {
        status: Number(status),
        codes: [...codes.matchAll(/`(\w+)`/g)].map(([, code]) => code ?? ''),
        urls: urls === 'all' ? [...new Set(Object.values(urlByOperation))] : urls.split(', '),
      };
    });
}

interface Operation {
  readonly operationId: string;
  readonly responses: Readonly<Record<string, unknown>>;
}

const operations = Object.values((createVideoDocument() as { paths: Record<string, Record<string, Operation>> }).paths)
  .flatMap((path) => Object.values(path))
  .filter(({ operationId }) => operationId in urlByOperation);

describe('the table of errors in docs/video.md', () => {
  it('names codes that exist, with their statuses', () => {
    const rows = readRows();
    expect(rows.length).toBeGreaterThan(20);
    for (const { codes, status } of rows)
      expect(codes.map((code) => errorCodes[code as keyof typeof errorCodes])).toEqual(codes.map(() => status));
  });

  it.each(operations.map((operation) => [operation.operationId, operation] as const))(
    'lists every error of %s',
    (operationId, { responses }) => {
      const documented = Object.keys(responses)
        .map(Number)
        .filter((status) => status >= 400 && !commonStatuses.has(status));
      const url = urlByOperation[operationId] ?? '';
      const listed = new Set(readRows().flatMap(({ status, urls }) => (urls.includes(url) ? [status] : [])));
      expect(documented.filter((status) => !listed.has(status))).toEqual([]);
    },
  );
});
