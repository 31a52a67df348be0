import type { UploadedFile, UploadRecord } from '@fleet/storage';
import { describe, expect, it } from '@jest/globals';
import { toCameraClock } from '../use-cases/verify-upload.ts';
import { formatPath, resolveClipPath } from './clip-path.ts';
import { generatePassword, isPasswordValid, parseUploadId, sha256Hex } from './credential.ts';
import { accumulateSilentMs, evaluateUpload, type UploadTimeouts } from './upload-decision.ts';
import { findCompleteFiles, pickFilename, toFileFields } from './uploaded-files.ts';

describe('clip paths', () => {
  it.each([
    ['/', [], 'a', 'a'],
    ['below the directory', ['d'], 'a//b/./c/', 'd/a/b/c'],
    ['from the root', ['d'], '/a', 'a'],
    ['one level up', ['d', 'e'], '../a', 'd/a'],
    ['above the root', ['d'], '../../../a', 'a'],
    ['with backslashes', ['d'], '\\x\\..\\y', 'y'],
  ])('resolves a path: %s', (_where, from, path, to) => {
    expect(resolveClipPath(from, path)?.join('/')).toBe(to);
  });

  it.each([['a\0b'], ['a\nb'], ['x'.repeat(201)], ['d/'.repeat(9)], ['é'.repeat(101)], ['a/'.repeat(500)]])(
    'rejects %j',
    (path) => {
      expect(resolveClipPath([], path)).toBeNull();
    },
  );

  it('formats a path from the root', () => {
    expect([formatPath([]), formatPath(['a', 'b'])]).toEqual(['/', '/a/b']);
  });
});

describe('credentials', () => {
  it('consist of 24 letters and digits and are unique', () => {
    const made = new Set(Array.from({ length: 1_000 }, generatePassword));
    expect(made.size).toBe(1_000);
    for (const password of made) expect(password).toMatch(/^[A-Za-z0-9]{24}$/);
  });

  it('match only their own hash', () => {
    expect(isPasswordValid('a', sha256Hex('a'))).toBe(true);
    expect(isPasswordValid('b', sha256Hex('a'))).toBe(false);
    expect(isPasswordValid('a', undefined)).toBe(false);
    expect(isPasswordValid('a', 'no hash')).toBe(false);
  });

  it('have a user name that contains the upload id', () => {
    expect(parseUploadId(`U${'ab'.repeat(12)}`)).toBe('ab'.repeat(12));
    expect(parseUploadId('anonymous')).toBeNull();
  });
});

let started = 0;
const file = (state: UploadedFile['state'], bytes: number, path = `${started}.mp4`): UploadedFile => {
  started += 1;
  return { path, bytes, state, startedAtMs: started };
};

describe('uploaded files', () => {
  it.each<[string, UploadedFile[], number | null]>([
    ['one whole file', [file('whole', 5)], 1],
    ['two whole files', [file('whole', 5), file('whole', 1)], 2],
    ['no files', [], null],
    ['an empty file', [file('whole', 0)], null],
    ['a file that is being received', [file('receiving', 5)], null],
    ['a whole file while another is being received', [file('receiving', 5), file('whole', 9)], null],
    ['a broken file', [file('broken', 5)], null],
    ['a broken file after a whole one', [file('whole', 5), file('broken', 5)], null],
    ['a broken file and a later whole one as large', [file('broken', 5), file('whole', 5)], 1],
    ['a broken file and a later whole one that is smaller', [file('broken', 5), file('whole', 4)], null],
    ['a broken file without data', [file('broken', 0), file('whole', 4)], 1],
    ['an empty whole file after a whole one', [file('whole', 4), file('whole', 0)], 2],
  ])('are complete or not: %s', (_what, files, count) => {
    expect(findCompleteFiles(files)?.length ?? null).toBe(count);
  });

  it('are named after the newest file with data, without its directory', () => {
    const files = [file('whole', 5, 'd/a.mp4'), file('whole', 5, 'd/b.mp4'), file('receiving', 0, 'c.mp4')];
    expect(pickFilename(files.toReversed())).toBe('b.mp4');
    expect(pickFilename([file('receiving', 0, 'x.mp4'), file('receiving', 0, 'y.mp4')])).toBe('x.mp4');
    expect(toFileFields([])).toEqual({ files: [], filesize: 0, filename: null });
  });
});

describe('evaluateUpload', () => {
  const timeouts: UploadTimeouts = {
    silenceTimeoutMs: 600,
    firstByteTimeoutMs: 5_000,
    pausedTimeoutMs: 9_000,
    confirmationTimeoutMs: 600,
  };
  const nowMs = 1_000_000;
  const record = (more: Partial<UploadRecord>): UploadRecord =>
    ({
      status: 'uploading',
      files: [],
      result: null,
      hasQuit: false,
      mobileNetwork: true,
      lastByteAtMs: null,
      silentMs: 0,
      createdAtMs: nowMs - 100,
      changedAtMs: nowMs - 100,
      credential: { passwordSha256: '', expiresAtMs: nowMs + 1 },
      ...more,
    }) as UploadRecord;
  const files = [file('whole', 5)];
  const at = (ageMs: number) => nowMs - ageMs;
  const long = { createdAtMs: at(4_000), changedAtMs: at(4_000), lastByteAtMs: at(700) };

  it.each<[string, Partial<UploadRecord>, string]>([
    ['success and whole files', { files, result: { code: 0, atMs: at(1) } }, 'completed'],
    [
      'success and whole files while paused',
      { status: 'paused', files, result: { code: 0, atMs: at(1) } },
      'completed',
    ],
    ['success without whole files', { result: { code: 0, atMs: at(1) } }, 'wait'],
    [
      'success without whole files for a long time',
      { ...long, result: { code: 0, atMs: at(700) } },
      'reported success without whole files',
    ],
    [
      'an old success while a file is being received',
      { ...long, files: [file('receiving', 1)], result: { code: 0, atMs: at(700) } },
      'wait',
    ],
    ['failure', { files, result: { code: 1, atMs: at(1) } }, 'device reported failure'],
    ['failure while paused', { status: 'paused', files, result: { code: 1, atMs: at(1) } }, 'wait'],
    ['whole files without confirmation', { files, lastByteAtMs: at(100), hasQuit: true }, 'wait'],
    ['whole files without confirmation for a long time, with QUIT', { ...long, files, hasQuit: true }, 'completed'],
    ['whole files without confirmation for a long time', { ...long, files }, 'prove'],
    ['silent', { ...long, silentMs: 600, files: [file('broken', 1)] }, 'silence'],
    ['silent since the request, with mobile network', { silentMs: 600 }, 'silence'],
    ['silent since the request, without mobile network', { silentMs: 600, mobileNetwork: false }, 'wait'],
    ['no data for a day', { createdAtMs: at(5_000), mobileNetwork: false }, 'no byte in time'],
    ['paused', { status: 'paused', silentMs: 10_000, createdAtMs: at(8_000), changedAtMs: at(8_000) }, 'wait'],
    ['paused for a week', { status: 'paused', changedAtMs: at(9_000) }, 'paused too long'],
    ['a lost credential', { credential: null }, 'credential lost'],
    ['an expired credential', { credential: { passwordSha256: '', expiresAtMs: nowMs } }, 'credential lost'],
    ['external with success', { external: true, result: { code: 0, atMs: at(1) } }, 'completed'],
    [
      'external with success while paused',
      { external: true, status: 'paused', result: { code: 0, atMs: 1 } },
      'completed',
    ],
    ['external with failure', { external: true, result: { code: 1, atMs: at(1) } }, 'device reported failure'],
    ['external and silent', { external: true, silentMs: 600, credential: null }, 'wait'],
    ['external without a result for a day', { external: true, createdAtMs: at(5_000) }, 'never confirmed'],
    [
      'external with a partial file here',
      { ...long, external: true, files: [file('broken', 1)], silentMs: 600 },
      'silence',
    ],
    ['completed', { status: 'completed', result: { code: 1, atMs: 1 } }, 'wait'],
    ['reserved', { status: 'reserved', createdAtMs: 0 }, 'wait'],
  ])('decides on an upload: %s', (_what, more, expected) => {
    const decision = evaluateUpload(record(more), timeouts, nowMs);
    expect(decision.kind === 'failed' ? decision.reason : decision.kind).toBe(expected);
  });

  it('leaves timeouts to the sweep', () => {
    expect(evaluateUpload(record({ ...long, files, hasQuit: true }), timeouts, nowMs, false).kind).toBe('wait');
  });

  it.each<[string, Partial<UploadRecord>, boolean, number]>([
    ['since the last check', { silentMs: 10 }, true, 60],
    ['since the last byte', { silentMs: 10, lastByteAtMs: at(20) }, true, 30],
    ['since the upload was resumed', { silentMs: 10, changedAtMs: at(5) }, true, 15],
    ['except while the device is disconnected', { silentMs: 10 }, false, 10],
    ['except during a pause', { silentMs: 10, status: 'paused' }, true, 0],
  ])('accumulates silence %s', (_what, more, isConnected, silentMs) => {
    expect(accumulateSilentMs(record(more), isConnected, at(50), nowMs)).toBe(silentMs);
  });
});

describe('toCameraClock', () => {
  it.each([
    ['+08:00', '260131160000'],
    ['-05:30', '260131023000'],
    ['+14:00', '260131220000'],
  ])('converts a time to the offset %s', (offset, expected) => {
    expect(toCameraClock(Date.UTC(2026, 0, 31, 8), offset)).toBe(expected);
  });
});
