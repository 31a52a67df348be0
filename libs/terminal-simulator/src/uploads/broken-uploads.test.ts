import { execFile } from 'node:child_process';
import tls from 'node:tls';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { UploadBench } from '../testing/upload-bench.ts';
import { waitFor } from '../testing/wait-for.ts';
import type { UploadOptions } from './upload-options.ts';

jest.setTimeout(60_000);

let cacheDir: string;
let bench: UploadBench;

beforeAll(async () => {
  cacheDir = await UploadBench.newCache();
});

afterAll(() => UploadBench.removeCache(cacheDir));

beforeEach(async () => {
  bench = await UploadBench.open(cacheDir);
});

afterEach(() => bench.close());

const firstFile = (): Buffer => [...bench.ftp.files.values()][0] ?? Buffer.alloc(0);

/** The upload has ended with success and the server has exactly what the terminal has. */
async function expectWhole(): Promise<void> {
  expect(await bench.notice()).toBe(0);
  const [expected] = await bench.expected();
  expect(firstFile().length).toBe(expected?.content.length);
  expect(firstFile().equals(expected?.content ?? Buffer.alloc(0))).toBe(true);
}

const verbs = (): string[] => bench.ftp.commands.map((line) => line.split(' ')[0] ?? '');

describe('accidents on the way', () => {
  it.each<[NonNullable<UploadOptions['uploadResume']>, string[]]>([
    ['append', ['STOR', 'APPE', 'APPE', 'APPE']],
    ['restart', ['STOR', 'REST', 'STOR', 'REST', 'STOR', 'REST', 'STOR']],
    ['fromZero', ['STOR', 'STOR', 'STOR', 'STOR']],
  ])(
    'a terminal that resumes by %s brings the file over a connection that breaks three times',
    async (resume, sent) => {
      await bench.start({
        uploadResume: resume,
        uploadBreaks: [
          { how: 'reset', afterBytes: 30_000 },
          { how: 'finish', afterBytes: 50_000 },
          { how: 'controlLost', afterBytes: 20_000 },
        ],
      });
      bench.requestUpload();
      await expectWhole();
      expect(verbs().filter((verb) => ['STOR', 'APPE', 'REST'].includes(verb))).toEqual(sent);
      expect(bench.terminal.uploads.records[0]).toMatchObject({ attempts: 4, state: 'completed' });
      expect(bench.ftp.transfers.at(-1)).toBe('whole');
    },
  );

  it('breaks as often as it is told to, and gives up when that is too often', async () => {
    await bench.start({ uploadRetries: 2, uploadBreaks: [{ how: 'reset', afterBytes: 10_000, times: 5 }] });
    bench.requestUpload();
    expect(await bench.notice()).toBe(1);
    expect(bench.terminal.uploads.records[0]).toMatchObject({ attempts: 3, state: 'failed' });
    expect(bench.terminal.uploads.breaks).toEqual([{ how: 'reset', afterBytes: 10_000, times: 2 }]);
    expect(firstFile().length).toBe(30_000);
  });

  it('controlLost leaves the data connection open until the next attempt', async () => {
    await bench.start({ uploadRetryMs: 3_600_000, uploadBreaks: [{ how: 'controlLost', afterBytes: 10_000 }] });
    bench.requestUpload();
    await waitFor('the loss', () => bench.terminal.uploads.breaks.length === 0 && bench.ftp.openConnections === 1);
    expect(firstFile().length).toBe(10_000);
    expect(bench.ftp.transfers).toEqual([]);
  });

  it('silent leaves both open', async () => {
    await bench.start({ uploadRetryMs: 3_600_000, uploadBreaks: [{ how: 'silent', afterBytes: 10_000 }] });
    bench.requestUpload();
    await waitFor('the silence', () => bench.terminal.uploads.breaks.length === 0);
    expect(bench.ftp.openConnections).toBe(2);
    expect(bench.ftp.transfers).toEqual([]);
  });

  it('goes on when the FTP server was away, and when its own connection to the platform was', async () => {
    await bench.start({ uploadBytesPerSecond: 300_000, reconnect: { minMs: 10, maxMs: 10 } });
    bench.requestUpload();
    await waitFor('bytes', () => firstFile().length > 20_000);
    bench.terminal.dropConnection();
    await bench.ftp.close();
    await waitFor('a vain attempt', () => (bench.terminal.uploads.records[0]?.attempts ?? 0) > 2);
    await bench.ftp.listen();
    await expectWhole();
    expect(bench.platform.connections).toBe(2);
  });

  it('goes on after a restart of the terminal', async () => {
    await bench.start({ uploadBytesPerSecond: 300_000 });
    bench.requestUpload();
    await waitFor('bytes', () => firstFile().length > 20_000);
    bench.terminal.uploads.interrupt();
    await expectWhole();
    expect(bench.terminal.uploads.records[0]?.attempts).toBe(2);
  });
});

describe('0x1206', () => {
  it('lies about a file that was cut off by an early FIN', async () => {
    const uploadBreaks = [{ how: 'finish', afterBytes: 40_000 }] as const;
    await bench.start({ uploadRetries: 0, uploadNotice: 'success', uploadBreaks });
    bench.requestUpload();
    expect(await bench.notice()).toBe(0);
    expect(firstFile().length).toBe(40_000);
    expect(bench.ftp.transfers).toEqual(['whole']);
    expect(bench.terminal.uploads.records[0]).toMatchObject({ state: 'failed', notice: 0 });
  });

  it('says failure about a file that is whole', async () => {
    await bench.start({ uploadNotice: 'failure' });
    bench.requestUpload();
    expect(await bench.notice()).toBe(1);
    expect(bench.terminal.uploads.records[0]).toMatchObject({ state: 'completed', notice: 1 });
  });

  it.each([true, false])('never comes, with QUIT %s', async (uploadQuits) => {
    await bench.start({ uploadNotice: 'never', uploadQuits });
    bench.requestUpload();
    await waitFor('the end', () => bench.terminal.uploads.records[0]?.state === 'completed');
    await waitFor('closed', () => bench.ftp.openConnections === 0);
    expect(bench.platform.of(0x1206)).toEqual([]);
    expect(verbs().includes('QUIT')).toBe(uploadQuits);
  });

  it('comes before the file is closed', async () => {
    await bench.start({ uploadNotice: 'early' });
    bench.requestUpload();
    expect(await bench.notice()).toBe(0);
    expect(bench.ftp.transfers).toEqual([]);
    await waitFor('the end', () => bench.terminal.uploads.records[0]?.state === 'completed');
    await expectWhole();
    expect(bench.platform.of(0x1206)).toHaveLength(1);
  });
});

describe('data connections', () => {
  it.each(['pasv', 'epsv', 'port', 'eprt'] as const)('by %s', async (uploadDataMode) => {
    await bench.start({ uploadDataMode, uploadBreaks: [{ how: 'reset', afterBytes: 30_000 }] });
    bench.requestUpload();
    await expectWhole();
    expect(verbs()).toContain(uploadDataMode.toUpperCase());
  });

  it.each(['pasv', 'port'] as const)('by %s with explicit TLS', async (uploadDataMode) => {
    const request = [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-days',
      '2',
    ];
    const { stdout } = await promisify(execFile)('openssl', [...request, '-subj', '/CN=localhost', '-keyout', '-']);
    bench.ftp.secureContext = tls.createSecureContext({ key: stdout, cert: stdout });
    await bench.start({ uploadTls: true, uploadDataMode });
    bench.requestUpload();
    await expectWhole();
    expect(verbs().slice(0, 5)).toEqual(['AUTH', 'PBSZ', 'PROT', 'USER', 'PASS']);
  });
});
