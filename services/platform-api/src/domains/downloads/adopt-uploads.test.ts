import type { UploadRecord } from '@fleet/storage';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { newImei } from '../../testing/fake-terminals.ts';
import { type Client, PlatformHarness } from '../../testing/platform-harness.ts';
import { storeUpload } from '../../testing/uploads.ts';
import { bucketCollection, bucketId } from '../positions/buckets.ts';
import { adoptAllUploads } from './adopt-uploads.ts';

// The tests use real servers on a machine that may be busy.
jest.setTimeout(120_000);

let harness: PlatformHarness;
let ours: Client;
let theirs: Client;
let count = 0;
beforeAll(async () => {
  harness = await PlatformHarness.open();
  [ours, theirs] = [harness.as(harness.ours.owner), harness.as(harness.theirs.owner)];
});
afterAll(() => harness?.close());

/** Stores an upload that was requested while the terminal had no vehicle. */
const storeUnowned = (imei: string, more: Partial<UploadRecord> = {}): Promise<UploadRecord> =>
  storeUpload(harness, { accountId: null, _id: null, imei }, { status: 'completed', filesize: 9, ...more });

async function assign(client: Client, imei: string): Promise<number> {
  count += 1;
  const { status, data } = await client.post('/api/vehicles', { vehicle_no: `ADOPT${count}`, imei });
  expect(status).toBe(201);
  return data.id;
}
const remove = async (client: Client, id: number): Promise<void> =>
  expect((await client.delete(`/api/vehicles/${id}`)).status).toBe(200);
const list = async (client: Client, id: number) =>
  (await client.get(`/api/user/downloaded-dashcam-videos?vehicle_id=${id}`)).items;
const videoIds = async (client: Client, id: number): Promise<unknown[]> =>
  (await list(client, id)).map(({ video_id: videoId }) => videoId);
/** Moves the begin of a clip, by default to a time after every test. */
const recordedAt = async ({ _id }: UploadRecord, startMs = Date.now() + 86_400_000): Promise<void> => {
  const uploads = harness.deps.database.collection<UploadRecord>('uploads');
  await uploads.updateOne({ _id }, { $set: { 'clip.startMs': startMs } });
};

describe('uploads that were requested before their terminal had a vehicle', () => {
  it('are listed with their file once the vehicle exists, and stay with the account', async () => {
    const imei = newImei();
    const upload = await storeUnowned(imei);
    const vehicleId = await assign(ours, imei);
    expect(await list(ours, vehicleId)).toMatchObject([
      { video_id: upload._id, vehicle_id: vehicleId, download_url: expect.stringContaining('/api/dashcam-media/') },
    ]);
    await remove(ours, vehicleId);
    expect(await videoIds(theirs, await assign(theirs, imei))).toEqual([]);
  });

  it('are listed when an existing vehicle gets the terminal', async () => {
    const imei = newImei();
    const upload = await storeUnowned(imei, { status: 'uploading' });
    const vehicleId = await assign(ours, newImei());
    expect((await ours.put(`/api/vehicles/${vehicleId}`, { imei })).status).toBe(200);
    expect(await videoIds(ours, vehicleId)).toEqual([upload._id]);
  });

  it('are not listed if they were recorded while another account had the terminal', async () => {
    const imei = newImei();
    await remove(theirs, await assign(theirs, imei));
    const [theirClip, ourClip] = [await storeUnowned(imei), await storeUnowned(imei)];
    await recordedAt(ourClip);
    const vehicleId = await assign(ours, imei);
    expect(await videoIds(ours, vehicleId)).toEqual([ourClip._id]);
    const uploads = harness.deps.database.collection<UploadRecord>('uploads');
    expect(await uploads.findOne({ _id: theirClip._id })).toMatchObject({
      accountId: harness.theirs.accountId,
      vehicleId: null,
    });
  });

  it('are not listed if it is unknown until when another account had the terminal', async () => {
    const imei = newImei();
    await storeUnowned(imei);
    const head = { vehicleId: 1, accountId: harness.theirs.accountId, imei };
    await bucketCollection(harness.deps.database).insertOne({
      _id: bucketId(String(Number(imei)), 1, Date.now()),
      ...head,
      points: {},
    });
    expect(await videoIds(ours, await assign(ours, imei))).toEqual([]);
  });

  it('are listed by a job if they were requested concurrently', async () => {
    const imei = newImei();
    const vehicleId = await assign(ours, imei);
    const upload = await storeUnowned(imei);
    expect(await videoIds(ours, vehicleId)).toEqual([]);
    await adoptAllUploads(harness.deps);
    expect(await videoIds(ours, vehicleId)).toEqual([upload._id]);
  });
});
