import { randomBytes } from 'node:crypto';
import { RetryLater } from '@fleet/bus';
import { createLogger } from '@fleet/service-kit';
import { createReservation, type Database, openDatabase, type UploadRecord, UploadRepository } from '@fleet/storage';
import { testEnv } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { applyResult } from './apply-result.ts';
import { UploadFinalizer } from './upload-finalizer.ts';

// A real database on a machine that may be busy.
jest.setTimeout(60_000);

const commandSerialNo = 7;

/** Accepts a reservation right after one of the reads that search for the upload of a 0x1206. */
class RacingRecords extends UploadRepository {
  readonly #accepted: UploadRecord;
  readonly #after: 'listOf' | 'findReservation';

  constructor(database: Database, accepted: UploadRecord, after: 'listOf' | 'findReservation') {
    super(database);
    this.#accepted = accepted;
    this.#after = after;
  }

  override async listByDevice(imei: string): Promise<UploadRecord[]> {
    const found = await super.listByDevice(imei);
    await this.#accept('listOf');
    return found;
  }

  override async findReservation(imei: string): Promise<UploadRecord | null> {
    const found = await super.findReservation(imei);
    await this.#accept('findReservation');
    return found;
  }

  async #accept(read: 'listOf' | 'findReservation'): Promise<void> {
    if (read === this.#after) await this.transition(this.#accepted._id, ['reserved'], 'uploading', { commandSerialNo });
  }
}

let database: Database;
beforeAll(() => {
  const url = new URL(testEnv('MONGODB_URL'));
  url.pathname = `/apply_result_${randomBytes(6).toString('hex')}`;
  database = openDatabase(url.href, { appName: 'apply-result-test' });
});
afterAll(async () => {
  await database.db.dropDatabase();
  await database.close();
});

const randomImei = (): string => String(1 + Math.trunc(Math.random() * 1e11));

async function reserved(imei = randomImei(), startMs = 0): Promise<UploadRecord> {
  const kind = { mediaType: 3, streamType: 0, storageType: 0, alarmFlags: '0' };
  const record = createReservation(
    { imei, channel: 1, startMs, endMs: startMs + 60_000, ...kind },
    {
      shownImei: imei,
      askedImei: imei,
      cameraUtcOffset: '+08:00',
      reservedUntilMs: Date.now() + 60_000,
      mobileNetwork: true,
    },
  );
  await new UploadRepository(database).reserve(record);
  return record;
}

/** Creates a finalizer that publishes nothing. */
const createFinalizer = (records: UploadRepository): UploadFinalizer =>
  new UploadFinalizer({
    records,
    bus: { nc: { isClosed: () => true }, isUp: () => true },
    publisher: {
      publish: (_subject: string, _data: unknown, done: (isStored: boolean) => void) => {
        done(true);
        return true;
      },
    },
    timeouts: {
      silenceTimeoutMs: 60_000,
      firstByteTimeoutMs: 60_000,
      pausedTimeoutMs: 60_000,
      confirmationTimeoutMs: 60_000,
    },
    metrics: { finalized: { inc: () => undefined } },
    log: createLogger('apply-result-test', 'silent'),
    queryListedBytes: async () => null,
    removeSuperseded: async () => undefined,
  } as unknown as ConstructorParameters<typeof UploadFinalizer>[0]);

describe('applyResult for a 0x1206 directly after the reply to its 0x9206', () => {
  it.each(['listOf', 'findReservation'] as const)(
    'fails the upload that is accepted right after the read %s',
    async (after) => {
      const reservation = await reserved();
      const records = new RacingRecords(database, reservation, after);
      const result = { imei: reservation.clip.imei, commandSerialNo, code: 1, receivedAtMs: Date.now() };
      const deps = { records, finalizer: createFinalizer(records) };
      // Like the consumer, applies a result again that requests a retry.
      const outcome = await applyResult(deps, result).catch((error: unknown) => {
        if (!(error instanceof RetryLater)) throw error;
        return applyResult(deps, result);
      });
      expect(outcome).toBe('applied');
      expect((await records.find(reservation._id))?.status).toBe('failed');
    },
  );

  it('waits for a reservation although a paused upload of an earlier session has the same serial', async () => {
    const records = new UploadRepository(database);
    const paused = await reserved();
    const { imei } = paused.clip;
    await records.transition(paused._id, ['reserved'], 'paused', { commandSerialNo });
    const reservation = await reserved(imei, 120_000);
    const deps = { records, finalizer: createFinalizer(records) };
    const result = { imei, commandSerialNo, code: 1, receivedAtMs: Date.now() };
    await expect(applyResult(deps, result)).rejects.toBeInstanceOf(RetryLater);
    await records.transition(reservation._id, ['reserved'], 'uploading', { commandSerialNo });
    expect(await applyResult(deps, result)).toBe('applied');
    expect((await records.find(reservation._id))?.status).toBe('failed');
    expect((await records.find(paused._id))?.status).toBe('paused');
  });
});
