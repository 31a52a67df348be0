// Fills both accounts of `lists.mjs`, and logs in as an owner, a guest and staff.
import { copyId, createTemplates, fillAccount, raiseCounters, readTemplates } from './lists-data.mjs';
import { guestId, nowMs, secondAccount, sizes, staffId } from './lists-settings.mjs';

/** Returns a function that sends requests as a user. */
async function logIn({ platform_api: platform, demo }, identifier) {
  const headers = { 'content-type': 'application/json' };
  const send = async (method, path, body) => {
    const response = await fetch(`${platform.url}${path}`, { method, headers, body: body && JSON.stringify(body) });
    const text = await response.text();
    if (!response.ok)
      throw Object.assign(new Error(`${path}: ${response.status} ${text}`), { status: response.status });
    return text === '' ? {} : JSON.parse(text);
  };
  const { data, access_token: token = data.access_token } = await send('POST', '/api/auth/login', {
    identifier,
    password: demo.password,
  });
  Object.assign(headers, { authorization: `Bearer ${token}`, 'x-api-key': demo.api_key });
  return send;
}

const emailOf = (role) => `${role}@fleet.example`;

/** Copies the demo user with another role. */
async function copyUser({ db, demo }, role, id) {
  const owner = await db.collection('users').findOne({ email: demo.email });
  const email = emailOf(role);
  await db.collection('users').insertOne({ ...owner, _id: id, email, role });
  await db.collection('unique_values').insertOne({ _id: `users.email:${email}`, recordId: id, takenAt: new Date() });
}

/** Creates the data, unless the data folder contains it. Returns the callers and ids. */
export async function fill(db, runtime) {
  const { demo } = runtime;
  const { _id: userId, accountId } = await db.collection('users').findOne({ email: demo.email });
  const webhook = () => db.collection('webhooks').findOne({ accountId });
  if ((await db.collection('users').findOne({ _id: staffId })) === null)
    await fillAll({ db, runtime, userId, accountId, webhook });
  return {
    userId,
    asOwner: await logIn(runtime, demo.email),
    asGuest: await logIn(runtime, emailOf('viewer')),
    asStaff: await logIn(runtime, emailOf('superadmin')),
    webhookId: (await webhook())._id,
  };
}

/** Inserts the vehicles of another account that are shared with the guest. */
async function insertShares(db) {
  await db.collection('shares').insertMany(
    Array.from({ length: 20 }, (_none, index) => {
      const shared = copyId(secondAccount.offset, index);
      const ids = { _id: shared, accountId: secondAccount.accountId, secondaryUserId: guestId, vehicleId: shared };
      const rest = { permissions: ['view', 'notifications'], expiresAt: null, sharedBy: secondAccount.userId };
      const times = { createdAt: new Date(), updatedAt: new Date(), version: 1 };
      return { ...ids, pair: `${guestId}:${shared}`, ...rest, ...times };
    }),
  );
}

/** Fills both accounts, and inserts customers, a guest and staff. */
async function fillAll({ db, runtime, userId, accountId, webhook }) {
  const { demo } = runtime;
  const asOwner = await logIn(runtime, demo.email);
  await createTemplates(async (method, path, body) => {
    const response = await asOwner(method, path, body);
    return response.data ?? response;
  });
  const templates = await readTemplates(db);
  await raiseCounters(db);
  await fillAccount(db, { accountId, userId, offset: 0, webhookId: (await webhook())._id, sizes, templates, nowMs });
  await fillAccount(db, { ...secondAccount, sizes, templates, nowMs });
  const customer = await db.collection('accounts').findOne({ _id: accountId });
  await db.collection('accounts').insertMany(
    Array.from({ length: 200 }, (_none, index) => ({
      ...customer,
      _id: copyId(0, index),
      name: `Customer ${index}`,
      dealerAccountId: accountId,
    })),
  );
  // A guest: a viewer with access to some vehicles of the other account in addition to its own.
  await copyUser({ db, demo }, 'viewer', guestId);
  await insertShares(db);
  await copyUser({ db, demo }, 'superadmin', staffId);
}
