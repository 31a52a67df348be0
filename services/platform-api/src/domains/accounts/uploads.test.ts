import { removeUploadFiles, serveUseCase } from '@fleet/bus';
import { createReservation, type UploadRecord, UploadRepository } from '@fleet/storage';
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { createAccountHooks } from '../../assembly/account-hooks.ts';
import { PlatformHarness } from '../../testing/platform-harness.ts';
import { processDeletedAccounts } from './deletion.ts';
import type { Account } from './schema.ts';

// The tests use real servers; the machine may be busy.
jest.setTimeout(120_000);

let harness: PlatformHarness;
let records: UploadRepository;
beforeAll(async () => {
  harness = await PlatformHarness.open();
  records = new UploadRepository(harness.deps.database);
});
afterAll(() => harness.close());

const podId = `pod-${process.pid}-erasure`;
let lastStartMs = 0;

async function clip(accountId: number | null, more: Partial<UploadRecord> = {}): Promise<string> {
  lastStartMs += 1_000;
  const imei = '100000000001';
  const times = { startMs: lastStartMs, endMs: lastStartMs + 1_000 };
  const record: UploadRecord = {
    ...createReservation(
      { imei, channel: 1, ...times, mediaType: 0, streamType: 0, storageType: 0, alarmFlags: '0' },
      {
        accountId,
        shownImei: imei,
        askedImei: imei,
        cameraUtcOffset: '+08:00',
        reservedUntilMs: 0,
        mobileNetwork: false,
      },
    ),
    status: 'completed',
    server: { podId, httpUrl: 'http://127.0.0.1:1' },
    ...more,
  };
  expect(await records.reserve(record)).toBe(true);
  return record._id;
}

it('removes the clips of a deleted account with their files once their server responds', async () => {
  const { accountId } = await harness.tenant('Clips');
  const stored = [await clip(harness.ours.accountId), await clip(null)];
  const withFiles = [await clip(accountId), await clip(accountId, { status: 'paused' })];
  const without = await clip(accountId, { status: 'failed', server: null });
  const accounts = harness.records.collection<Account>('accounts');
  await accounts.updateOne({ _id: accountId }, { $set: { deletedAt: new Date(), isEnded: false } });
  await processDeletedAccounts(harness.deps, createAccountHooks(harness.deps));
  const afterErasure = new Date(Date.now() + harness.deps.config.ERASURE_DAYS * 86_400_000);

  // The pod is unavailable: no record of its files may be deleted.
  await processDeletedAccounts(harness.deps, createAccountHooks(harness.deps), afterErasure);
  expect(await accounts.findOne({ _id: accountId })).toMatchObject({ name: 'Deleted account', erasedAt: null });
  expect(await records.find(without)).toBeNull();
  expect((await records.findStatuses(withFiles)).size).toBe(2);

  const removed: string[] = [];
  const pod = serveUseCase(
    harness.bus,
    removeUploadFiles(podId),
    { queue: podId, onError: () => undefined },
    async ({ uploadId }) => {
      removed.push(uploadId);
      return {};
    },
  );
  await harness.bus.nc.flush();
  try {
    await processDeletedAccounts(harness.deps, createAccountHooks(harness.deps), afterErasure);
  } finally {
    await pod.stop();
  }
  expect(removed.toSorted()).toEqual(withFiles.toSorted());
  expect((await records.findStatuses([...withFiles, ...stored])).size).toBe(stored.length);
  expect(await accounts.findOne({ _id: accountId })).toMatchObject({ erasedAt: expect.any(Date) });
});
