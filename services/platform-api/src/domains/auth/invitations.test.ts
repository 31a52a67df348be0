import { randomInt } from 'node:crypto';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { MailServer } from '../../testing/mail-server.ts';
import { type Client, type Data, PlatformHarness } from '../../testing/platform-harness.ts';

jest.setTimeout(60_000);

let server: MailServer;
let harness: PlatformHarness;
let owner: Client;
let silent: PlatformHarness;
beforeAll(async () => {
  server = await MailServer.open({ credentials: { user: 'fleet', pass: 'smtp-secret' } });
  const smtp = {
    SMTP_HOST: '127.0.0.1',
    SMTP_PORT: String(server.port),
    SMTP_USER: 'fleet',
    SMTP_PASSWORD: 'smtp-secret',
  };
  const settings = { ...smtp, MAIL_FROM: 'Fleet <fleet@platform.example>' };
  harness = await PlatformHarness.open(settings, { hasProviders: true });
  owner = harness.as(harness.ours.owner);
  silent = await PlatformHarness.open({}, { hasProviders: true });
});
beforeEach(() => {
  server.onRecipient = () => null;
});
afterAll(async () => {
  await silent?.close();
  await harness?.close();
  await server.close();
});

const newEmail = (): string => `person-${randomInt(1e12)}@fleet.example`;
const password = 'another long password';
const extractToken = (text: string): string =>
  /token=(?:3D)?(pr_[\w-]{43})/.exec(text.replaceAll(/=\r?\n/g, ''))?.[1] ?? '';
const mailsTo = (email: string) => server.received.filter(({ to }) => to.includes(email));
const reset = (token: string, at = harness) => at.anonymous.post('/api/auth/password/reset', { token, password });
const check = (token: string) => harness.anonymous.post('/api/auth/password/check', { token });
const invite = (email: string, client = owner, headers = {}) =>
  client.post('/api/users/invite', { email, role: 'viewer' }, headers);
const getInvitation = ({ data }: { data: Data }) => data['invitation'] as { status: string; url?: string | null };

describe('invitation', () => {
  it('is sent by the mail server, and only the mail contains the link', async () => {
    const email = newEmail();
    const created = await invite(email);
    expect(created).toMatchObject({ status: 201, data: { email } });
    expect(getInvitation(created)).toEqual({ status: 'sent' });
    const [mail] = mailsTo(email);
    expect(mail).toMatchObject({ from: 'fleet@platform.example', user: 'fleet' });
    const token = extractToken(mail?.content ?? '');
    expect((await check(token)).data).toEqual({
      kind: 'invitation',
      name: email,
      account_name: expect.any(String),
      expires_at: expect.stringMatching(/^\d{4}-/),
    });
    expect(await reset(token)).toMatchObject({ status: 200 });
    expect((await check(token)).body).toMatchObject({ status: 401, code: 'token_invalid' });
  });

  it('has its token in the fragment of the link, which browsers send to no server', async () => {
    const { url } = getInvitation(await invite(newEmail(), silent.as(silent.ours.owner)));
    expect(new URL(url ?? '')).toMatchObject({ search: '', hash: expect.stringMatching(/^#token=pr_/) });
  });

  it('is queued while the mail server does not accept it, and sent later', async () => {
    const email = newEmail();
    server.onRecipient = () => 451;
    expect(getInvitation(await invite(email))).toEqual({ status: 'queued' });
    server.onRecipient = () => null;
    const mails = harness.deps.database.collection<{ nextAt: Date }>('mails');
    await mails.updateMany({}, { $set: { nextAt: new Date() } });
    await waitFor(() => mailsTo(email).length === 1);
  });

  it.each(['/api/users/invite', '/api/users'])(
    'contains the link for the inviter if the mail cannot be sent: %s',
    async (path) => {
      const email = newEmail();
      server.onRecipient = () => 550;
      const created = await owner.post(path, { name: 'Ann', email, role: 'viewer' });
      const { status, url } = getInvitation(created);
      expect([created.status, status]).toEqual([201, 'failed']);
      expect(await reset(extractToken(url ?? ''))).toMatchObject({ status: 200, data: { email } });
    },
  );

  it('contains the link for the inviter if no delivery is configured', async () => {
    const created = await invite(newEmail(), silent.as(silent.ours.owner));
    const { status, url } = getInvitation(created);
    expect([created.status, status]).toEqual([201, 'not_configured']);
    expect(await reset(extractToken(url ?? ''), silent)).toMatchObject({ status: 200 });
    const phone = `+9198${String(randomInt(1e8)).padStart(8, '0')}`;
    const fields = { name: 'Ben', phone_number: phone, role: 'viewer' };
    const byPhone = await silent.as(silent.ours.owner).post('/api/users', fields);
    expect(getInvitation(byPhone)).toMatchObject({
      status: 'not_configured',
      url: expect.stringContaining('token=pr_'),
    });
  });

  it('is not created for a user with a password', async () => {
    const created = await owner.post('/api/users', { name: 'Ann', email: newEmail(), role: 'viewer', password });
    expect(created.status).toBe(201);
    expect(created.data).not.toHaveProperty('invitation');
  });

  it('of a customer is part of the response that creates the account', async () => {
    const operator = silent.as(await silent.user('superadmin'));
    const opened = await operator.post('/api/accounts', { name: 'New', owner: { name: 'Ann', email: newEmail() } });
    expect(opened.status).toBe(201);
    expect(getInvitation(opened)).toMatchObject({
      status: 'not_configured',
      url: expect.stringContaining('token=pr_'),
    });
  });

  it('is not stored with an Idempotency-Key; a replay has no link', async () => {
    const headers = { 'idempotency-key': `invite-${randomInt(1e12)}` };
    const [email, client] = [newEmail(), silent.as(silent.ours.owner)];
    const first = await invite(email, client, headers);
    const again = await invite(email, client, headers);
    expect(again.data).toMatchObject({ id: first.data.id, invitation: { status: 'not_configured', url: null } });
    const stored = await silent.deps.database.collection('idempotency_keys').find({}).toArray();
    expect(JSON.stringify(stored)).not.toContain('token=pr_');
  });

  it('can be sent again, which invalidates the previous link', async () => {
    const email = newEmail();
    const { data } = await invite(email);
    const again = await owner.post(`/api/users/${data.id}/invite`);
    expect(again).toMatchObject({ status: 200, data: { id: data.id, invitation: { status: 'sent' } } });
    const [first, second] = mailsTo(email).map(({ content }) => extractToken(content));
    expect(await reset(first ?? '')).toMatchObject({ status: 401 });
    expect(await reset(second ?? '')).toMatchObject({ status: 200 });
    const accepted = await owner.post(`/api/users/${data.id}/invite`);
    expect(accepted).toMatchObject({ status: 409, body: { code: 'state_conflict' } });
    expect(mailsTo(email)).toHaveLength(2);
  });

  it('can be sent again only by users of the account who may invite to the role', async () => {
    const { data } = await owner.post('/api/users/invite', { email: newEmail(), role: 'owner' });
    const path = `/api/users/${data.id}/invite`;
    expect(await harness.as(await harness.user('admin')).post(path)).toMatchObject({ status: 403 });
    expect(await harness.as(await harness.user('manager')).post(path)).toMatchObject({ status: 403 });
    expect(await harness.as(harness.theirs.owner).post(path)).toMatchObject({ status: 404 });
    // The user logs in with codes and has no password.
    const user = await harness.user('viewer', harness.ours, { passwordHash: null, lastLoginAt: new Date() });
    expect(await owner.post(`/api/users/${user.id}/invite`)).toMatchObject({ status: 409 });
  });

  it('is canceled while queued if the address is corrected', async () => {
    server.onRecipient = () => 451;
    const [wrong, right] = [newEmail(), newEmail()];
    const { data } = await invite(wrong);
    expect((await owner.put(`/api/users/${data.id}`, { email: right })).status).toBe(200);
    const mails = harness.deps.database.collection<{ userId: number }>('mails');
    expect(await mails.countDocuments({ userId: data.id })).toBe(0);
  });
});

describe('password reset link', () => {
  it('is sent by the mail queue', async () => {
    const user = await harness.user('viewer');
    await harness.anonymous.post('/api/auth/password/forgot', { identifier: user.email });
    await waitFor(() => mailsTo(user.email).length === 1);
    expect(await reset(extractToken(mailsTo(user.email)[0]?.content ?? ''))).toMatchObject({ status: 200 });
  });
});

describe('POST /api/account/test-mail', () => {
  const path = '/api/account/test-mail';

  it("sends a mail to the caller's own address and returns the result", async () => {
    const { email } = harness.ours.owner;
    expect(await owner.post(path)).toMatchObject({ status: 200, data: { status: 'sent', to: email } });
    expect(mailsTo(email)).toHaveLength(1);
    server.onRecipient = () => 550;
    expect((await owner.post(path)).data).toEqual({ status: 'failed', to: email, reason: 'refused' });
    server.onRecipient = () => 451;
    expect((await owner.post(path)).data).toEqual({ status: 'failed', to: email, reason: 'temporary_failure' });
    const quiet = await silent.as(silent.ours.owner).post(path);
    expect(quiet.data).toEqual({ status: 'not_configured', to: silent.ours.owner.email });
    const { items } = await owner.get('/api/audit-log?action=accounts.test-mail');
    expect(items).toHaveLength(3);
  });

  it('requires an administrator with an e-mail address', async () => {
    expect(await harness.as(await harness.user('manager')).post(path)).toMatchObject({ status: 403 });
    const phoneNumber = `+9198${String(randomInt(1e8)).padStart(8, '0')}`;
    const user = await harness.user('admin', harness.ours, { email: null, phoneNumber });
    expect(await harness.as(user).post(path)).toMatchObject({ status: 409 });
  });

  it('is rate-limited per account', async () => {
    const limited = await PlatformHarness.open({ RATE_LIMIT_TEST_MAIL_PER_HOUR: '2' });
    try {
      // Redis has counters for the first accounts of other harnesses.
      const [one, other] = [await limited.tenant('One'), await limited.tenant('Other')];
      const [ours, theirs] = [limited.as(one.owner), limited.as(other.owner)];
      const statuses = [];
      for (const client of [ours, ours, ours, theirs]) statuses.push((await client.post(path)).status);
      expect(statuses).toEqual([200, 200, 429, 200]);
    } finally {
      await limited.close();
    }
  });
});
