import { createLogger, runPeriodically } from '@fleet/service-kit';
import type { UploadedFile, UploadRecord } from '@fleet/storage';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { evaluateUpload, isSilent, type UploadTimeouts } from '../domain/upload-decision.ts';
import { type SweepDeps, sweep } from './sweep.ts';

// All tests use fake timers: a real camera would have to be silent for ten minutes.
beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

const minuteMs = 60_000;
const sweepMs = 30_000;
const replyTimeoutMs = 90_000;
const timeouts: UploadTimeouts = {
  silenceTimeoutMs: 10 * minuteMs,
  firstByteTimeoutMs: 24 * 60 * minuteMs,
  pausedTimeoutMs: 24 * 60 * minuteMs,
  confirmationTimeoutMs: minuteMs,
};

const upload = (id: string, state: UploadedFile['state']): UploadRecord => ({
  _id: id,
  clipKey: id,
  clip: {
    imei: id,
    channel: 1,
    startMs: 0,
    endMs: minuteMs,
    mediaType: 0,
    streamType: 1,
    storageType: 1,
    alarmFlags: '0',
  },
  shownImei: id,
  askedImei: id,
  cameraUtcOffset: '+08:00',
  status: 'uploading',
  reservedUntilMs: 0,
  mobileNetwork: true,
  commandSerialNo: null,
  control: null,
  credential: { passwordSha256: '', expiresAtMs: Number.MAX_SAFE_INTEGER },
  server: null,
  files: [{ path: 'a.mp4', bytes: 5, state, startedAtMs: Date.now() }],
  filesize: 5,
  filename: 'a.mp4',
  result: null,
  hasQuit: false,
  lastByteAtMs: Date.now(),
  silentMs: 0,
  createdAtMs: Date.now(),
  changedAtMs: Date.now(),
});

/**
 * Uploads in memory whose connected cameras never respond. `endedAfterMs` holds the time from each upload's last byte
 * to its failure.
 */
class SilentFleet {
  readonly endedAfterMs = new Map<string, number>();
  readonly #uploads: Map<string, UploadRecord>;
  #lastRun: { atMs: number; untilMs: number } | undefined;

  constructor(uploads: readonly UploadRecord[]) {
    this.#uploads = new Map(uploads.map((record) => [record._id, record]));
  }

  createDeps(): SweepDeps {
    return {
      records: {
        listByStatus: async (statuses) => [...this.#uploads.values()].filter(({ status }) => statuses.includes(status)),
        finalize: async (record, fields) => this.#store({ ...record, ...fields }),
        remove: async () => false,
        unlockCamera: async () => undefined,
        unlockIdleCameras: async () => 0,
      },
      finalizer: { finalizeOnTimeout: (record) => this.#finalize(record) },
      lease: {
        acquire: async () => true,
        recordRun: async (atMs, untilNextMs) => {
          const before = this.#lastRun;
          this.#lastRun = { atMs, untilMs: atMs + untilNextMs };
          return before !== undefined && atMs <= before.untilMs ? before.atMs : null;
        },
      },
      isConnected: async () => true,
      isStopping: () => false,
      sweepIntervalMs: sweepMs,
      replyTimeoutMs,
      staleTransferMs: 10 * minuteMs,
      log: createLogger('sweep-test', 'silent'),
    };
  }

  /** Decides like the finalizer for a camera that does not respond to the query of its recordings. */
  async #finalize(record: UploadRecord): Promise<UploadRecord> {
    const decision = evaluateUpload(record, timeouts, Date.now());
    if (decision.kind === 'prove') await new Promise((resolve) => setTimeout(resolve, replyTimeoutMs));
    if (decision.kind !== 'failed' && !(decision.kind === 'prove' && isSilent(record, timeouts))) return record;
    this.endedAfterMs.set(record._id, Date.now() - (record.lastByteAtMs ?? 0));
    return this.#store({ ...record, status: 'failed' });
  }

  #store(record: UploadRecord): UploadRecord {
    this.#uploads.set(record._id, record);
    return record;
  }
}

describe('silence measured by sweep', () => {
  // A sweep queries sixteen cameras at a time. With more, it takes longer than one reply timeout.
  it.each([
    [1, 15],
    [16, 15],
    [17, 20],
    [50, 30],
  ])('counts equally for all uploads with %i connected cameras that do not respond', async (count, limitMinutes) => {
    const listedUploads = Array.from({ length: count }, (_, index) => upload(`listed-${index}`, 'whole'));
    const fleet = new SilentFleet([upload('first', 'broken'), ...listedUploads, upload('last', 'broken')]);
    const errors: unknown[] = [];
    const parts = fleet.createDeps();
    const stop = runPeriodically(
      sweepMs,
      () => sweep(parts),
      (error) => errors.push(error),
    );
    await jest.advanceTimersByTimeAsync(limitMinutes * minuteMs);
    const stopped = stop();
    await jest.advanceTimersByTimeAsync(limitMinutes * minuteMs);
    await stopped;
    expect(errors).toEqual([]);
    expect(fleet.endedAfterMs.size).toBe(count + 2);
    expect(Math.min(...fleet.endedAfterMs.values())).toBeGreaterThanOrEqual(timeouts.silenceTimeoutMs);
    expect(Math.max(...fleet.endedAfterMs.values())).toBeLessThanOrEqual(limitMinutes * minuteMs);
  });
});
