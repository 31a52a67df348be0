import type { UploadedFile, UploadRecord } from '@fleet/storage';
import { describe, expect, it } from '@jest/globals';
import { toCameraClock } from '../use-cases/verify-upload.ts';
import { formatPath, resolveClipPath } from './clip-path.ts';
import { generatePassword, isPasswordValid, parseUploadId, sha256Hex } from './credential.ts';
import { accumulateSilentMs, evaluateUpload, type UploadTimeouts } from './upload-decision.ts';
import { findCompleteFiles, pickFilename, toFileFields } from './uploaded-files.ts';

describe('a path', () => {
  it.each([
    ['/', [], 'a', 'a'],
    ['below', ['d'], 'a//b/./c/', 'd/a/b/c'],
    ['from the root', ['d'], '/a', 'a'],
    ['up', ['d', 'e'], '../a', 'd/a'],
    ['above the root', ['d'], '../../../a', 'a'],
    ['in the other spelling', ['d'], '\\x\\..\\y', 'y'],
  ])('leads %s', (_where, from, path, to) => {
    expect(resolveClipPath(from, path)?.join('/')).toBe(to);
  });

  it.each([['a\0b'], ['a\nb'], ['x'.repeat(201)], ['d/'.repeat(9)], ['é'.repeat(101)], ['a/'.repeat(500)]])(
    'is none: %j',
    (path) => {
      expect(resolveClipPath([], path)).toBeNull();
    },
  );

  it('is shown from the root', () => {
    expect([formatPath([]), formatPath(['a', 'b'])]).toEqual(['/', '/a/b']);
  });
});

describe('a credential', () => {
  it('is of letters and digits, another each time, and long enough', () => {
    const made = new Set(Array.from({ length: 1_000 }, generatePassword));
    expect(made.size).toBe(1_000);
    for (const password of made) expect(password).toMatch(/^[A-Za-z0-9]{24}$/);
  });

  it('fits its own hash alone', () => {
    expect(isPasswordValid('a', sha256Hex('a'))).toBe(true);
    expect(isPasswordValid('b', sha256Hex('a'))).toBe(false);
    expect(isPasswordValid('a', undefined)).toBe(false);
    expect(isPasswordValid('a', 'no hash')).toBe(false);
  });

  it('has a user name that names its upload', () => {
    expect(parseUploadId(`U${'ab'.repeat(12)}`)).toBe('ab'.repeat(12));
    expect(parseUploadId('anonymous')).toBeNull();
  });
});

let started = 0;
const file = (state: UploadedFile['state'], bytes: number, path = `${started}.mp4`): UploadedFile => {
  started += 1;
  return { path, bytes, state, startedAtMs: started };
};

describe('files of an upload', () => {
  it.each<[string, UploadedFile[], number | null]>([
    ['one whole', [file('whole', 5)], 1],
    ['two whole', [file('whole', 5), file('whole', 1)], 2],
    ['none', [], null],
    ['an empty one', [file('whole', 0)], null],
    ['one that is being received', [file('receiving', 5)], null],
    ['a whole one while another is being received', [file('receiving', 5), file('whole', 9)], null],
    ['a broken one', [file('broken', 5)], null],
    ['a broken one behind a whole one', [file('whole', 5), file('broken', 5)], null],
    ['a broken one and a later whole one as large', [file('broken', 5), file('whole', 5)], 1],
    ['a broken one and a later whole one that is smaller', [file('broken', 5), file('whole', 4)], null],
    ['a broken one without a byte', [file('broken', 0), file('whole', 4)], 1],
    ['an empty whole one behind a whole one', [file('whole', 4), file('whole', 0)], 2],
  ])('are whole or not: %s', (_what, files, count) => {
    expect(findCompleteFiles(files)?.length ?? null).toBe(count);
  });

  it('have the name of the newest with bytes, without its directory', () => {
    const files = [file('whole', 5, 'd/a.mp4'), file('whole', 5, 'd/b.mp4'), file('receiving', 0, 'c.mp4')];
    expect(pickFilename(files.toReversed())).toBe('b.mp4');
    expect(pickFilename([file('receiving', 0, 'x.mp4'), file('receiving', 0, 'y.mp4')])).toBe('x.mp4');
    expect(toFileFields([])).toEqual({ files: [], filesize: 0, filename: null });
  });
});

describe('the judgement of an upload', () => {
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
    ['success and whole', { files, result: { code: 0, atMs: at(1) } }, 'completed'],
    ['success, whole and paused', { status: 'paused', files, result: { code: 0, atMs: at(1) } }, 'completed'],
    ['success and not whole', { result: { code: 0, atMs: at(1) } }, 'wait'],
    [
      'success and not whole for long',
      { ...long, result: { code: 0, atMs: at(700) } },
      'reported success without whole files',
    ],
    [
      'success long ago while a file comes',
      { ...long, files: [file('receiving', 1)], result: { code: 0, atMs: at(700) } },
      'wait',
    ],
    ['failure', { files, result: { code: 1, atMs: at(1) } }, 'device reported failure'],
    ['failure and paused', { status: 'paused', files, result: { code: 1, atMs: at(1) } }, 'wait'],
    ['whole and unconfirmed', { files, lastByteAtMs: at(100), hasQuit: true }, 'wait'],
    ['whole and unconfirmed for long, with QUIT', { ...long, files, hasQuit: true }, 'completed'],
    ['whole and unconfirmed for long', { ...long, files }, 'prove'],
    ['silent', { ...long, silentMs: 600, files: [file('broken', 1)] }, 'silence'],
    ['silent from the request, by mobile network', { silentMs: 600 }, 'silence'],
    ['silent from the request, otherwise', { silentMs: 600, mobileNetwork: false }, 'wait'],
    ['without a byte for a day', { createdAtMs: at(5_000), mobileNetwork: false }, 'no byte in time'],
    ['paused', { status: 'paused', silentMs: 10_000, createdAtMs: at(8_000), changedAtMs: at(8_000) }, 'wait'],
    ['paused for a week', { status: 'paused', changedAtMs: at(9_000) }, 'paused too long'],
    ['whose credential is lost', { credential: null }, 'credential lost'],
    ['whose credential has expired', { credential: { passwordSha256: '', expiresAtMs: nowMs } }, 'credential lost'],
    ['external, by success alone', { external: true, result: { code: 0, atMs: at(1) } }, 'completed'],
    [
      'external, by success while paused',
      { external: true, status: 'paused', result: { code: 0, atMs: 1 } },
      'completed',
    ],
    ['external, by failure', { external: true, result: { code: 1, atMs: at(1) } }, 'device reported failure'],
    ['external and silent', { external: true, silentMs: 600, credential: null }, 'wait'],
    ['external without a word for a day', { external: true, createdAtMs: at(5_000) }, 'never confirmed'],
    [
      'external, with a part of a file here',
      { ...long, external: true, files: [file('broken', 1)], silentMs: 600 },
      'silence',
    ],
    ['completed', { status: 'completed', result: { code: 1, atMs: 1 } }, 'wait'],
    ['reserved', { status: 'reserved', createdAtMs: 0 }, 'wait'],
  ])('%s', (_what, more, expected) => {
    const decision = evaluateUpload(record(more), timeouts, nowMs);
    expect(decision.kind === 'failed' ? decision.reason : decision.kind).toBe(expected);
  });

  it('leaves what only time says to the sweep', () => {
    expect(evaluateUpload(record({ ...long, files, hasQuit: true }), timeouts, nowMs, false).kind).toBe('wait');
  });

  it.each<[string, Partial<UploadRecord>, boolean, number]>([
    ['since the last look', { silentMs: 10 }, true, 60],
    ['since the last byte', { silentMs: 10, lastByteAtMs: at(20) }, true, 30],
    ['since the resumption', { silentMs: 10, changedAtMs: at(5) }, true, 15],
    ['not while the device is away', { silentMs: 10 }, false, 10],
    ['not through a pause', { silentMs: 10, status: 'paused' }, true, 0],
  ])('counts silence %s', (_what, more, isConnected, silentMs) => {
    expect(accumulateSilentMs(record(more), isConnected, at(50), nowMs)).toBe(silentMs);
  });
});

describe('the camera’s clock', () => {
  it.each([
    ['+08:00', '260131160000'],
    ['-05:30', '260131023000'],
    ['+14:00', '260131220000'],
  ])('at %s', (offset, expected) => {
    expect(toCameraClock(Date.UTC(2026, 0, 31, 8), offset)).toBe(expected);
  });
});
