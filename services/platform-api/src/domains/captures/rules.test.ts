import { describe, expect, it } from '@jest/globals';
import { newCapture } from '../../testing/media-records.ts';
import { type ArrivedPicture, expectedFiles, matchPicture, pictureFormat } from './rules.ts';
import type { Capture } from './schema.ts';

const nowMs = Date.parse('2026-03-01T12:00:00Z');
let lastId = 0;

/** Returns a capture that was requested some seconds ago. */
function captureOf(agoSeconds: number, more: Partial<Capture> = {}): Capture {
  lastId += 1;
  const requestedAt = new Date(nowMs - agoSeconds * 1000);
  const record = { _id: lastId, accountId: 1, createdAt: requestedAt, updatedAt: requestedAt, version: 1 };
  return { ...newCapture({ accountId: 1, _id: 5, imei: '13900000001' }), ...record, requestedAt, ...more };
}

const pictureOf = (more: Partial<ArrivedPicture> = {}): ArrivedPicture => ({
  mediaKey: 'file:new',
  multimediaId: 7,
  receivedAtMs: nowMs,
  takenAtMs: nowMs,
  ...more,
});
const match = (captures: readonly Capture[], more: Partial<ArrivedPicture> = {}) =>
  matchPicture(captures, pictureOf(more), nowMs);

describe('a picture', () => {
  it('belongs to the capture whose response listed its id, although others are older', () => {
    const [first, listed] = [captureOf(20), captureOf(10, { multimediaIds: [6, 7] })];
    expect(match([first, listed])).toBe(listed);
  });

  it('belongs to the newest capture that listed a reused id before it was taken', () => {
    const ids = { multimediaIds: [7] };
    const [early, late] = [captureOf(3_600, { ...ids, status: 'expired' }), captureOf(10, ids)];
    expect(match([early, late])).toBe(late);
    expect(match([early, late], { takenAtMs: nowMs - 3_500_000 })).toBe(early);
  });

  it('without listed ids belongs to the first pending capture', () => {
    const [first, second] = [captureOf(20), captureOf(10)];
    expect(match([first, second])).toBe(first);
    const full = { ...first, files: [{ mediaKey: 'file:other', multimediaId: 6 }] };
    expect(match([full, second])).toBe(second);
  });

  it('that arrives late belongs to the expired capture before it was taken', () => {
    const expired = captureOf(7_200, { status: 'expired' });
    expect(match([expired])).toBe(expired);
    expect(match([expired, captureOf(10)], { takenAtMs: nowMs - 7_100_000 })).toBe(expired);
  });

  it('belongs to a pending capture although the clock of the terminal is wrong', () => {
    const pending = captureOf(10);
    expect(match([pending], { takenAtMs: nowMs - 3_600_000 })).toBe(pending);
  });

  it('keeps its capture when it is reported again', () => {
    const first = captureOf(20, { files: [{ mediaKey: 'file:new', multimediaId: 7 }], status: 'completed' });
    expect(match([first, captureOf(10)])).toBe(first);
  });

  it('waits for the response of the terminal, but not for that of a crashed process', () => {
    const shooting = captureOf(5, { step: 'shooting' });
    expect(match([shooting])).toBe('later');
    expect(matchPicture([shooting], pictureOf(), nowMs + 30_000)).toBe(shooting);
  });

  it.each([
    ['failed', captureOf(10, { status: 'failed' })],
    ['was requested after its arrival', captureOf(-60)],
    ['recorded a clip', captureOf(10, { kind: 'clip' })],
    ['listed other ids', captureOf(10, { multimediaIds: [8] })],
    ['was requested days before, without ids', captureOf(3 * 86_400, { status: 'expired' })],
  ])('does not belong to a capture that %s', (_name, capture) => {
    expect(match([capture])).toBe('none');
  });
});

describe('a capture', () => {
  it('expects the listed pictures, else the requested ones, and one file of live video', () => {
    expect(expectedFiles(captureOf(1, { count: 3 }))).toBe(3);
    expect(expectedFiles(captureOf(1, { count: 3, multimediaIds: [1, 2] }))).toBe(2);
    expect(expectedFiles(captureOf(1, { count: 3, method: 'stream' }))).toBe(1);
    expect(expectedFiles(captureOf(1, { count: 3, kind: 'clip' }))).toBe(1);
  });

  it('has the highest resolution of the edition with the quality MAX', () => {
    expect(pictureFormat('MAX', '2019')).toMatchObject({ resolution: 0xff, quality: 1, box: null });
    expect(pictureFormat('MAX', '2013')).toMatchObject({ resolution: 4, quality: 1 });
    expect(pictureFormat('MEDIUM', '2019')).toMatchObject({ resolution: 2, quality: 5 });
  });
});
