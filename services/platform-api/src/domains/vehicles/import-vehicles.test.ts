import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type Client, type Data, PlatformHarness } from '../../testing/platform-harness.ts';

jest.setTimeout(60_000);

let harness: PlatformHarness;
let owner: Client;

beforeAll(async () => {
  harness = await PlatformHarness.open();
  owner = harness.as(harness.ours.owner);
});
afterAll(() => harness?.close());

const importRows = (rows: unknown, client = owner) => client.post('/api/vehicles/import', { rows });

describe('an import of vehicles', () => {
  it('creates new numbers, updates known ones and repeats with the same result', async () => {
    const rows = [{ vehicle_no: 'imp 1', name: 'First', year: 2020 }, { vehicle_no: 'IMP2' }];
    const first = await importRows(rows);
    expect(first.status).toBe(200);
    expect(first.data).toMatchObject({ created: 2, updated: 0, failed: 0 });
    const again = await importRows([{ vehicle_no: 'IMP1', name: 'Changed' }, ...rows.slice(1)]);
    expect(again.data).toMatchObject({ created: 0, updated: 2, failed: 0 });
    const [{ vehicle_id: id }] = first.data['rows'] as [Data];
    const { data } = await owner.get(`/api/vehicles/${String(id)}`);
    expect(data).toMatchObject({ vehicle_no: 'IMP1', name: 'Changed', year: 2020 });
  });

  it('names the faults of each row and imports the others', async () => {
    const taken = `0${String(Date.now()).slice(-11)}`;
    const rows = [
      { vehicle_no: 'IMP3', imei: taken },
      { vehicle_no: 'IMP4', imei: '123' },
      { name: 'without a number' },
      { vehicle_no: 'IMP5', imei: taken },
      { vehicle_no: 'IMP6', driver_id: 9_007_199_254_740_991 },
      { vehicle_no: 'IMP7' },
    ];
    const { data } = await importRows(rows);
    expect(data).toMatchObject({ created: 2, updated: 0, failed: 4 });
    const results = data['rows'] as Data[];
    expect(results.map(({ index, status }) => [index, status])).toEqual([
      [0, 'created'],
      [1, 'failed'],
      [2, 'failed'],
      [3, 'failed'],
      [4, 'failed'],
      [5, 'created'],
    ]);
    const pathsOf = (at: number) =>
      (results[at]?.['details'] as { path: string }[] | undefined)?.map(({ path }) => path);
    expect(pathsOf(1)).toEqual(['/imei']);
    expect(pathsOf(2)).toEqual(['/vehicle_no']);
    expect(results[3]).toMatchObject({ code: 'duplicate' });
    expect(results[4]?.['code']).toMatch(/not_found/);
  });

  it('does not change a vehicle of another account with the same number', async () => {
    const stranger = harness.as(harness.theirs.owner);
    const { data: foreign } = await stranger.post('/api/vehicles', { vehicle_no: 'IMP8', name: 'Theirs' });
    expect((await importRows([{ vehicle_no: 'IMP8', name: 'Ours' }])).data).toMatchObject({ created: 1 });
    expect((await stranger.get(`/api/vehicles/${String(foreign['id'])}`)).data).toMatchObject({ name: 'Theirs' });
  });

  it('requires 1 to 200 rows and the permission to change the fleet', async () => {
    expect((await importRows([])).status).toBe(400);
    expect((await importRows(Array.from({ length: 201 }, () => ({ vehicle_no: 'X' })))).status).toBe(400);
    expect((await importRows([{ vehicle_no: 'IMP9' }], harness.as(await harness.user('viewer')))).status).toBe(403);
  });
});
