import { randomInt } from 'node:crypto';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { PlatformHarness, type TestUser } from '../../testing/platform-harness.ts';
import type { User } from '../users/schema.ts';

// The tests use real servers; the machine may be busy.
jest.setTimeout(60_000);

let harness: PlatformHarness;
beforeAll(async () => {
  harness = await PlatformHarness.open();
});
afterAll(() => harness.close());

const newPhone = (): string => `+9198${String(randomInt(1e8)).padStart(8, '0')}`;
const post = (path: string, body: unknown, headers?: Record<string, string>) =>
  harness.anonymous.post(`/api/auth/${path}`, body, headers);
const tokenSet = {
  token_type: 'Bearer',
  access_token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
  expires_in: 3600,
  refresh_token: expect.stringMatching(/^rt_\d+\.[\w-]{32}\.[\w-]{32}$/),
  refresh_expires_in: 2_592_000,
};

describe('one-time codes', () => {
  const findSentCode = (phone: string): string | undefined =>
    /\b\d{6}\b/.exec(harness.sent.findLast(({ to }) => to === phone)?.text ?? '')?.[0];
  const send = async (phone: string): Promise<string> => {
    const before = harness.sent.length;
    expect((await post('otp/send', { phone_number: phone })).status).toBe(202);
    await waitFor(() => harness.sent.length > before);
    return findSentCode(phone) ?? '';
  };
  const verify = (phone: string, code: string, more: object = {}) =>
    post('otp/verify', { phone_number: phone, code, ...more });

  it('logs a user in once with a code', async () => {
    const phone = newPhone();
    const user = await harness.user('viewer', harness.ours, { phoneNumber: phone });
    const code = await send(phone);
    const response = await verify(phone.replace('+91', '+91 '), code);
    expect(response.data).toMatchObject({ ...tokenSet, user: { id: user.id } });
    expect((await verify(phone, code)).body).toMatchObject({ status: 401, code: 'invalid_credentials' });
  });

  it('returns the same response for an unknown number, without sending a code', async () => {
    const phone = newPhone();
    const response = await post('otp/send', { phone_number: phone });
    expect([response.status, response.data]).toEqual([202, { phone_number: phone, expires_in: 300 }]);
    await send(await harness.user('viewer', harness.ours, { phoneNumber: newPhone() }).then(phoneOf));
    expect(harness.sent.some(({ to }) => to === phone)).toBe(false);
    expect((await verify(phone, '123456')).status).toBe(401);
  });
  const phoneOf = async ({ id }: TestUser): Promise<string> =>
    (await harness.deps.database.collection<User>('users').findOne({ _id: id }))?.phoneNumber ?? '';

  it('accepts a code for five attempts and five minutes, until the next code is sent', async () => {
    const phone = newPhone();
    await harness.user('viewer', harness.ours, { phoneNumber: phone });
    const first = await send(phone);
    const wrong = first === '000000' ? '000001' : '000000';
    for (let no = 0; no < 4; no += 1) expect((await verify(phone, wrong)).status).toBe(401);
    expect((await verify(phone, first)).status).toBe(200);
    const codes = harness.deps.database.collection<{ _id: string }>('one_time_codes');
    const late = await send(phone);
    await codes.updateOne({ _id: phone }, { $set: { expiresAt: new Date(Date.now() - 1) } });
    expect((await verify(phone, late)).status).toBe(401);
    const replaced = await send(phone);
    const last = await send(phone);
    // Both codes are equal once in a million runs.
    expect(replaced === last || (await verify(phone, replaced)).status === 401).toBe(true);
    expect((await verify(phone, last)).status).toBe(200);
    const response = await send(phone);
    // A hash or a number may contain the six digits by chance.
    const stored = Object.values((await codes.findOne({ _id: phone })) ?? {}).map(String);
    expect(stored).toContain(phone);
    expect(stored).not.toContain(response);
  });

  it('sends five codes an hour to a number', async () => {
    const limited = await PlatformHarness.open({ RATE_LIMIT_CODES_PER_HOUR: '5' });
    try {
      const phone = newPhone();
      const statuses = [];
      for (let no = 0; no < 6; no += 1)
        statuses.push((await limited.anonymous.post('/api/auth/otp/send', { phone_number: phone })).status);
      expect(statuses).toEqual([202, 202, 202, 202, 202, 429]);
      // Password links do not bypass the limit and do not reveal which users exist.
      const [flooded, other] = [limited.ours.owner.email, limited.theirs.owner.email];
      const forgot = async (identifier: string) =>
        expect((await limited.anonymous.post('/api/auth/password/forgot', { identifier })).status).toBe(202);
      for (let no = 0; no < 7; no += 1) await forgot(no % 2 === 0 ? flooded : flooded.toUpperCase());
      await forgot(other);
      const sentTo = (to: string): number => limited.sent.filter((message) => message.to === to).length;
      await waitFor(() => sentTo(other) === 1 && sentTo(flooded) === 5);
    } finally {
      await limited.close();
    }
  });
});
