import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type Client, PlatformHarness } from '../../testing/platform-harness.ts';

jest.setTimeout(60_000);

let harness: PlatformHarness;
let owner: Client;
let viewer: Client;
let stranger: Client;
beforeAll(async () => {
  harness = await PlatformHarness.open();
  owner = harness.as(harness.ours.owner);
  viewer = harness.as(await harness.user('viewer'));
  stranger = harness.as(harness.theirs.owner);
});
afterAll(() => harness?.close());

const path = '/api/support-tickets';
const ticket = { subject: 'No video', message: 'Camera 2 is black.' };

describe('support tickets', () => {
  it('are created, listed, updated, replied to and deleted', async () => {
    const made = await owner.post(path, { ...ticket, priority: 'high' });
    expect(made).toMatchObject({
      status: 201,
      data: { ...ticket, status: 'open', priority: 'high', vehicle_id: null, replies: [], version: 1 },
    });
    const one = `${path}/${made.data.id}`;
    expect(made.headers.get('location')).toBe(one);
    expect(await owner.put(one, { status: 'pending' })).toMatchObject({ status: 200, data: { status: 'pending' } });
    expect((await owner.get(`${path}?status=pending`)).items).toMatchObject([{ id: made.data.id }]);
    expect((await owner.get(`${path}?status=closed`)).items).toEqual([]);
    const replied = await owner.post(`${one}/replies`, { message: 'Try again.' });
    expect(replied).toMatchObject({ status: 201, data: { replies: [{ message: 'Try again.' }], status: 'pending' } });
    expect(replied.headers.get('location')).toBe(one);
    expect(await owner.delete(one)).toMatchObject({ status: 200, data: { id: made.data.id } });
    expect(await owner.delete(one)).toMatchObject({ status: 404 });
  });

  it('limit the size of their replies, so that a page of tickets can be sent', async () => {
    const { data } = await owner.post(path, ticket);
    const one = `${path}/${data.id}`;
    const reply = { userId: harness.ours.owner.id, message: 'x'.repeat(10_000), createdAt: new Date() };
    const replies = Array.from({ length: 26 }, () => reply);
    await harness.deps.database
      .collection<{ _id: number }>('support_tickets')
      .updateOne({ _id: data.id }, { $set: { replies } });
    expect(await owner.post(`${one}/replies`, { message: 'é'.repeat(1_000) })).toMatchObject({ status: 201 });
    const response = await owner.post(`${one}/replies`, { message: 'x' });
    expect(response).toMatchObject({ status: 201 });
    const refused = await owner.post(`${one}/replies`, { message: 'é'.repeat(100) });
    expect(refused).toMatchObject({ status: 409, body: { code: 'limit_reached' } });
  });

  it('store concurrent replies; a reply reopens a resolved ticket, and a closed one accepts none', async () => {
    const { data } = await owner.post(path, ticket);
    const one = `${path}/${data.id}`;
    await Promise.all(['a', 'b', 'c'].map((message) => owner.post(`${one}/replies`, { message })));
    expect(((await owner.get(one)).data['replies'] as unknown[]).length).toBe(3);
    await owner.put(one, { status: 'resolved' });
    expect((await owner.post(`${one}/replies`, { message: 'Not yet.' })).data).toMatchObject({ status: 'open' });
    await owner.put(one, { status: 'closed' });
    expect(await owner.post(`${one}/replies`, { message: 'x' })).toMatchObject({ status: 409 });
  });

  it("are limited to the user's own below manager, and to the account for all roles", async () => {
    const ofOwner = (await owner.post(path, { ...ticket, subject: 'Of the owner' })).data.id;
    const ofViewer = (await viewer.post(path, { ...ticket, subject: 'Of the viewer' })).data.id;
    expect((await viewer.get(path)).items.map(({ id }) => id)).toEqual([ofViewer]);
    expect(await viewer.get(`${path}/${ofOwner}`)).toMatchObject({ status: 404 });
    expect(await viewer.put(`${path}/${ofOwner}`, { status: 'closed' })).toMatchObject({ status: 404 });
    expect(await owner.get(`${path}/${ofViewer}`)).toMatchObject({ status: 200 });
    for (const id of [ofOwner, ofViewer]) {
      expect(await stranger.get(`${path}/${id}`)).toMatchObject({ status: 404 });
      expect(await stranger.put(`${path}/${id}`, { subject: 'x' })).toMatchObject({ status: 404 });
      expect(await stranger.post(`${path}/${id}/replies`, { message: 'x' })).toMatchObject({ status: 404 });
      expect(await stranger.delete(`${path}/${id}`)).toMatchObject({ status: 404 });
    }
    expect((await stranger.get(path)).items).toEqual([]);
  });

  it('reject invalid input', async () => {
    for (const body of [
      {},
      { subject: 'x' },
      { ...ticket, subject: '' },
      { ...ticket, subject: 5 },
      { ...ticket, priority: 'now' },
      { ...ticket, vehicle_id: 'one' },
    ])
      expect([body, (await owner.post(path, body)).status]).toEqual([body, 400]);
    expect(await owner.post(path, { ...ticket, vehicle_id: 999_999 })).toMatchObject({ status: 404 });
    expect(await owner.get(`${path}?status=lost`)).toMatchObject({ status: 400 });
    expect(await owner.get(`${path}/abc`)).toMatchObject({ status: 404 });
    expect(await harness.anonymous.get(path)).toMatchObject({ status: 401 });
    const { data } = await owner.post(path, ticket);
    expect(await owner.put(`${path}/${data.id}`, { status: 'gone' })).toMatchObject({ status: 400 });
    expect(await owner.put(`${path}/${data.id}`, { subject: 'b' }, { 'if-match': '"9"' })).toMatchObject({
      status: 412,
    });
  });
});
