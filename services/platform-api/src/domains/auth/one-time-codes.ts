import { randomInt, timingSafeEqual } from 'node:crypto';
import { AppError, type RequestContext } from '@fleet/service-kit';
import type { Deps } from '../../platform/deps.ts';
import { findByPhone, recordPhoneVerified } from '../users/use-cases.ts';
import { verifySecondFactor } from './log-in.ts';
import { LoginThrottle } from './login-throttle.ts';
import { consumeAttempt, consumeCode, saveCode } from './store.ts';
import { createTokenSet } from './token-set.ts';

/** Validity of a code. */
export const codeSeconds = 300;
const maxTries = 5;

type CodeDeps = Pick<Deps, 'records' | 'database' | 'bus' | 'tokens' | 'encryption' | 'limits' | 'log' | 'messages'>;

const sealPurpose = (phoneNumber: string): string => `one-time code to ${phoneNumber}`;

/** Sends a code to a number that has a user. The response does not reveal whether the number has one. */
export async function sendCode(deps: CodeDeps, phoneNumber: string, context: RequestContext): Promise<void> {
  await deps.limits.consume('codes', phoneNumber, context);
  // Not awaited, so that the response time reveals nothing.
  void sendIfKnown(deps, phoneNumber).catch((error: unknown) =>
    context.log.error({ err: error }, 'could not send a one-time code'),
  );
}

async function sendIfKnown(deps: CodeDeps, phoneNumber: string): Promise<void> {
  const user = await findByPhone(deps.records, phoneNumber);
  if (user === null || user.disabled) return;
  const code = String(randomInt(1_000_000)).padStart(6, '0');
  await saveCode(deps.database, {
    _id: phoneNumber,
    sealedCode: deps.encryption.seal(code, sealPurpose(phoneNumber)),
    triesLeft: maxTries,
    expiresAt: new Date(Date.now() + codeSeconds * 1000),
  });
  const text = `${code} is your code to log in. It is valid for ${codeSeconds / 60} minutes. We will never ask you for it.`;
  await deps.messages.send({ kind: 'sms', to: phoneNumber, text });
}

/** Logs a user in with a code that was sent. */
export async function verifyCode(
  deps: CodeDeps,
  input: { phoneNumber: string; code: string; totpCode?: string | undefined },
  context: RequestContext,
) {
  const { phoneNumber } = input;
  await deps.limits.consume('login', `identifier:${phoneNumber}`, context);
  const throttle = await LoginThrottle.begin(deps, phoneNumber);
  const sent = await consumeAttempt(deps.database, phoneNumber, new Date());
  const user = await findByPhone(deps.records, phoneNumber);
  const isRight =
    sent !== null && isSameCode(deps.encryption.open(sent.sealedCode, sealPurpose(phoneNumber)), input.code);
  if (sent === null || user === null || user.disabled || !isRight)
    throw new AppError('invalid_credentials', 'The code is wrong, used or expired. Request a new one.');
  await verifySecondFactor(deps, user, input.totpCode, throttle);
  if (!(await consumeCode(deps.database, sent)))
    throw new AppError('invalid_credentials', 'The code has just been used. Request a new one.');
  await throttle.reset();
  await recordPhoneVerified(deps.records, user._id, phoneNumber);
  return createTokenSet(deps, user, 'code', context);
}

const isSameCode = (one: string, other: string): boolean =>
  one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));
