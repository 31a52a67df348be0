import { existsSync, readFileSync } from 'node:fs';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { PlatformHarness } from '../testing/platform-harness.ts';

// Uses a real broker, which responds late on a busy machine.
jest.setTimeout(60_000);

const packageUrl = new URL('../../', import.meta.url);

/** Rows of the README's table: name, stream, subject filter, and file. */
const documented = readFileSync(new URL('README.md', packageUrl), 'utf8')
  .split('\n')
  .map((line) => line.split('|').map((cell) => cell.trim().replaceAll('`', '')))
  .filter(([, name, stream]) => name !== undefined && /^[A-Z_]+$/.test(stream ?? '') && /^[a-z-]+$/.test(name))
  .map(([, name = '', stream = '', subject = '', _purpose, file = '']) => ({ name, stream, subject, file }));

describe('durable consumers of platform-api', () => {
  let harness: PlatformHarness;
  beforeAll(async () => {
    harness = await PlatformHarness.open({ PLATFORM_ROLES: 'api,telemetry' });
  });
  afterAll(() => harness.close());

  const existing = async (): Promise<readonly Record<'name' | 'stream' | 'subject', string>[]> => {
    const manager = await harness.bus.jetstreamManager();
    const found = [];
    for await (const stream of manager.streams.list())
      for await (const { name, config } of manager.consumers.list(stream.config.name))
        if (config.durable_name !== undefined)
          found.push({ name, stream: stream.config.name, subject: config.filter_subject ?? '' });
    return found;
  };

  it('are those of the table in the README', async () => {
    await waitFor(async () => (await existing()).length >= documented.length);
    const rows = documented.map(({ name, stream, subject }) => ({ name, stream, subject }));
    const byName = (one: { name: string }, other: { name: string }): number => (one.name < other.name ? -1 : 1);
    expect([...(await existing())].toSorted(byName)).toEqual(rows.toSorted(byName));
  });

  it('are started by the files of that table', () => {
    expect(documented.filter(({ file }) => !existsSync(new URL(`src/${file}`, packageUrl)))).toEqual([]);
  });
});
