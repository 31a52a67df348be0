import { createHash } from 'node:crypto';
import { AppError } from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../platform/deps.ts';
import type { NewAccountRecord } from '../../store/account-repository.ts';
import type { PushToken, PushTokenBody } from './schema.ts';
import { findPushToken, pushTokenCollection } from './store.ts';

type Store = Pick<Deps, 'records'>;

/** Largest number of devices of a user that get push messages. The device that was seen longest ago is removed. */
const maxPushTokens = 10;

/** Returns the devices that get push messages for a user. */
export const pushTokensOf = ({ records }: Store, user: Pick<Caller, 'accountId' | 'userId'>): Promise<PushToken[]> =>
  pushTokenCollection(records).all(user, { userId: user.userId });

/** Registers the token of a device. A token of another user moves to the caller. */
export async function registerPushToken(
  deps: Store,
  caller: Caller,
  body: PushTokenBody,
  now = new Date(),
): Promise<PushToken> {
  const fields = {
    userId: caller.userId,
    token: body.push_token,
    tokenSha256: createHash('sha256').update(body.push_token).digest('hex'),
    platform: body.platform ?? null,
    deviceId: body.device_id ?? null,
    seenAt: now,
  };
  const token = await claim(deps, caller, fields);
  await dropOthers(deps, caller, token);
  return token;
}

/**
 * Removes the token of a device, or all tokens of the caller if no device is named. Returns the one that was seen last,
 * or null.
 */
export async function removePushTokens(
  deps: Store,
  caller: Pick<Caller, 'accountId' | 'userId'>,
  deviceId: string | null,
): Promise<PushToken | null> {
  const own = await pushTokensOf(deps, caller);
  const gone = newestFirst(own.filter((token) => deviceId === null || token.deviceId === deviceId));
  for (const { _id } of gone) await pushTokenCollection(deps.records).remove(caller, _id);
  return gone[0] ?? null;
}

/** Removes a token that its provider no longer knows. */
export const removePushToken = async ({ records }: Store, token: PushToken): Promise<void> => {
  await pushTokenCollection(records).remove(token, token._id);
};

/** Two concurrent requests need two attempts. More are needed only if a crash has left a unique value. */
const maxAttempts = 5;

async function claim({ records }: Store, caller: Caller, fields: NewAccountRecord<PushToken>): Promise<PushToken> {
  const tokens = pushTokenCollection(records);
  for (let attempt = 1; ; attempt += 1) {
    const known = await findPushToken(records, fields.tokenSha256);
    if (known !== null && known.accountId === caller.accountId && known.userId === caller.userId) {
      const kept = { platform: fields.platform ?? known.platform, deviceId: fields.deviceId ?? known.deviceId };
      const changed = await tokens.update(caller, known._id, { ...fields, ...kept });
      if (changed !== null) return changed;
    } else if (known !== null) await tokens.remove(known, known._id);
    try {
      return await tokens.insert(caller, fields);
    } catch (error) {
      // The same device sent two requests concurrently, and this is the second.
      if (!(error instanceof AppError && error.code === 'duplicate') || attempt === maxAttempts) throw error;
    }
  }
}

/** Removes the previous tokens of the device, and tokens above the limit of the user. */
async function dropOthers(deps: Store, caller: Caller, kept: PushToken): Promise<void> {
  const others = (await pushTokensOf(deps, caller)).filter(({ _id }) => _id !== kept._id);
  const replaced = others.filter(({ deviceId }) => deviceId !== null && deviceId === kept.deviceId);
  const left = newestFirst(others.filter((token) => !replaced.includes(token)));
  for (const { _id } of [...replaced, ...left.slice(maxPushTokens - 1)])
    await pushTokenCollection(deps.records).remove(caller, _id);
}

const newestFirst = (tokens: readonly PushToken[]): PushToken[] =>
  tokens.toSorted((a, b) => b.seenAt.getTime() - a.seenAt.getTime() || b._id - a._id);
