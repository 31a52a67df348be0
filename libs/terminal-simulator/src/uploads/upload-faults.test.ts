import { execFile } from 'node:child_process';
import tls from 'node:tls';
import { promisify } from 'node:util';
import { waitFor } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { UploadHarness } from '../testing/upload-harness.ts';
import type { UploadOptions } from './upload-options.ts';

jest.setTimeout(60_000);

let cacheDir: string;
let harness: UploadHarness;

beforeAll(async () => {
  cacheDir = await UploadHarness.createCache();
});

afterAll(() => UploadHarness.removeCache(cacheDir));

beforeEach(async () => {
  harness = await UploadHarness.open(cacheDir);
});

afterEach(() => harness.close());

const firstFile = (): Buffer => [...harness.ftp.files.values()][0] ?? Buffer.alloc(0);

/** Asserts that the upload succeeded and that the server has exactly the terminal's bytes. */
async function expectWhole(): Promise<void> {
  expect(await harness.waitForNotice()).toBe(0);
  const [expected] = await harness.expectedFiles();
  expect(firstFile().length).toBe(expected?.content.length);
  expect(firstFile().equals(expected?.content ?? Buffer.alloc(0))).toBe(true);
}

const verbs = (): string[] => harness.ftp.commands.map((line) => line.split(' ')[0] ?? '');

describe('upload faults', () => {
  it.each<[NonNullable<UploadOptions['uploadResume']>, string[]]>([
    ['append', ['STOR', 'APPE', 'APPE', 'APPE']],
    ['restart', ['STOR', 'REST', 'STOR', 'REST', 'STOR', 'REST', 'STOR']],
    ['fromZero', ['STOR', 'STOR', 'STOR', 'STOR']],
  ])(
    'a terminal that resumes by %s completes the file although the connection breaks three times',
    async (resume, sent) => {
      await harness.start({
        uploadResume: resume,
        uploadFaults: [
          { how: 'reset', afterBytes: 30_000 },
          { how: 'finish', afterBytes: 50_000 },
          { how: 'controlLost', afterBytes: 20_000 },
        ],
      });
      harness.requestUpload();
      await expectWhole();
      expect(verbs().filter((verb) => ['STOR', 'APPE', 'REST'].includes(verb))).toEqual(sent);
      expect(harness.terminal.uploads.records[0]).toMatchObject({ attempts: 4, state: 'completed' });
      expect(harness.ftp.transfers.at(-1)).toBe('whole');
    },
  );

  it('breaks as often as configured, and fails if the retries are exhausted', async () => {
    await harness.start({ uploadRetries: 2, uploadFaults: [{ how: 'reset', afterBytes: 10_000, times: 5 }] });
    harness.requestUpload();
    expect(await harness.waitForNotice()).toBe(1);
    expect(harness.terminal.uploads.records[0]).toMatchObject({ attempts: 3, state: 'failed' });
    expect(harness.terminal.uploads.faults).toEqual([{ how: 'reset', afterBytes: 10_000, times: 2 }]);
    expect(firstFile().length).toBe(30_000);
  });

  it('controlLost leaves the data connection open until the next attempt', async () => {
    await harness.start({ uploadRetryMs: 3_600_000, uploadFaults: [{ how: 'controlLost', afterBytes: 10_000 }] });
    harness.requestUpload();
    await waitFor(() => harness.terminal.uploads.faults.length === 0 && harness.ftp.openConnections === 1, 'the loss');
    expect(firstFile().length).toBe(10_000);
    expect(harness.ftp.transfers).toEqual([]);
  });

  it('silent leaves both connections open', async () => {
    await harness.start({ uploadRetryMs: 3_600_000, uploadFaults: [{ how: 'silent', afterBytes: 10_000 }] });
    harness.requestUpload();
    await waitFor(() => harness.terminal.uploads.faults.length === 0, 'the silence');
    expect(harness.ftp.openConnections).toBe(2);
    expect(harness.ftp.transfers).toEqual([]);
  });

  it('continues after an outage of the FTP server and a lost connection to the platform', async () => {
    await harness.start({ uploadBytesPerSecond: 300_000, reconnect: { minMs: 10, maxMs: 10 } });
    harness.requestUpload();
    await waitFor(() => firstFile().length > 20_000, 'bytes');
    harness.terminal.dropConnection();
    await harness.ftp.close();
    await waitFor(() => (harness.terminal.uploads.records[0]?.attempts ?? 0) > 2, 'a failed attempt');
    await harness.ftp.listen();
    await expectWhole();
    expect(harness.platform.connections).toBe(2);
  });

  it('continues after a restart of the terminal', async () => {
    await harness.start({ uploadBytesPerSecond: 300_000 });
    harness.requestUpload();
    await waitFor(() => firstFile().length > 20_000, 'bytes');
    harness.terminal.uploads.interrupt();
    await expectWhole();
    expect(harness.terminal.uploads.records[0]?.attempts).toBe(2);
  });
});

describe('0x1206', () => {
  it('can report success for a file that was cut by an early FIN', async () => {
    const uploadFaults = [{ how: 'finish', afterBytes: 40_000 }] as const;
    await harness.start({ uploadRetries: 0, uploadNotice: 'success', uploadFaults });
    harness.requestUpload();
    expect(await harness.waitForNotice()).toBe(0);
    expect(firstFile().length).toBe(40_000);
    expect(harness.ftp.transfers).toEqual(['whole']);
    expect(harness.terminal.uploads.records[0]).toMatchObject({ state: 'failed', notice: 0 });
  });

  it('can report failure for a complete file', async () => {
    await harness.start({ uploadNotice: 'failure' });
    harness.requestUpload();
    expect(await harness.waitForNotice()).toBe(1);
    expect(harness.terminal.uploads.records[0]).toMatchObject({ state: 'completed', notice: 1 });
  });

  it.each([true, false])('is never sent if configured, with QUIT %s', async (uploadQuits) => {
    await harness.start({ uploadNotice: 'never', uploadQuits });
    harness.requestUpload();
    await waitFor(() => harness.terminal.uploads.records[0]?.state === 'completed', 'the end');
    await waitFor(() => harness.ftp.openConnections === 0, 'closed');
    expect(harness.platform.framesWithId(0x1206)).toEqual([]);
    expect(verbs().includes('QUIT')).toBe(uploadQuits);
  });

  it('can arrive before the file is closed', async () => {
    await harness.start({ uploadNotice: 'early' });
    harness.requestUpload();
    expect(await harness.waitForNotice()).toBe(0);
    expect(harness.ftp.transfers).toEqual([]);
    await waitFor(() => harness.terminal.uploads.records[0]?.state === 'completed', 'the end');
    await expectWhole();
    expect(harness.platform.framesWithId(0x1206)).toHaveLength(1);
  });
});

describe('data connections', () => {
  it.each(['pasv', 'epsv', 'port', 'eprt'] as const)('support %s', async (uploadDataMode) => {
    await harness.start({ uploadDataMode, uploadFaults: [{ how: 'reset', afterBytes: 30_000 }] });
    harness.requestUpload();
    await expectWhole();
    expect(verbs()).toContain(uploadDataMode.toUpperCase());
  });

  it.each(['pasv', 'port'] as const)('support %s with explicit TLS', async (uploadDataMode) => {
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
    harness.ftp.secureContext = tls.createSecureContext({ key: stdout, cert: stdout });
    await harness.start({ uploadTls: true, uploadDataMode });
    harness.requestUpload();
    await expectWhole();
    expect(verbs().slice(0, 5)).toEqual(['AUTH', 'PBSZ', 'PROT', 'USER', 'PASS']);
  });
});
