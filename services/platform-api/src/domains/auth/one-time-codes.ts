import { randomInt, timingSafeEqual } from 'node:crypto';
import { AppError, type RequestContext } from '@fleet/service-kit';
import type { Deps } from '../../deps.ts';
import { normalPhone } from '../../phone.ts';
import { findByPhone, notePhoneVerified } from '../users/use-cases.ts';
import { Attempts } from './attempts.ts';
import { passSecondFactor } from './log-in.ts';
import { saveCode, takeTry, useUpCode } from './store.ts';
import { logUserIn } from './token-set.ts';

/** How long a code is valid. */
export const codeSeconds = 300;
const codeTries = 5;

type Parts = Pick<Deps, 'records' | 'database' | 'bus' | 'tokens' | 'encryption' | 'limits' | 'log' | 'messages'>;

const purposeOf = (phoneNumber: string): string => `one-time code to ${phoneNumber}`;

export function phoneOf(text: string): string {
  const phone = normalPhone(text);
  if (phone !== null) return phone;
  throw new AppError('validation_failed', 'The field phone_number must be a phone number in international form.', {
    details: [{ path: '/phone_number', message: 'must be a phone number in international form' }],
  });
}

/** Sends a code to a number that has a user; to the caller all numbers are the same. */
export async function sendCode(deps: Parts, phoneNumber: string, context: RequestContext): Promise<void> {
  await deps.limits.consume('codes', phoneNumber, context);
  // Not waited for, so that the time tells nothing.
  void sendIfKnown(deps, phoneNumber).catch((error: unknown) =>
    context.log.error({ err: error }, 'a one-time code could not be sent'),
  );
}

async function sendIfKnown(deps: Parts, phoneNumber: string): Promise<void> {
  const user = await findByPhone(deps.records, phoneNumber);
  if (user === null || user.disabled) return;
  const code = String(randomInt(1_000_000)).padStart(6, '0');
  await saveCode(deps.database, {
    _id: phoneNumber,
    sealedCode: deps.encryption.seal(code, purposeOf(phoneNumber)),
    triesLeft: codeTries,
    expiresAt: new Date(Date.now() + codeSeconds * 1000),
  });
  const text = `${code} is your code to log in. It is valid for ${codeSeconds / 60} minutes. Nobody of us will ask you for it.`;
  await deps.messages.send({ kind: 'sms', to: phoneNumber, text });
}

/** Log-in with a code that was sent. */
export async function verifyCode(
  deps: Parts,
  given: { phoneNumber: string; code: string; totpCode?: string | undefined },
  context: RequestContext,
) {
  const { phoneNumber } = given;
  await deps.limits.consume('login', `identifier:${phoneNumber}`, context);
  const attempts = await Attempts.begin(deps, phoneNumber);
  const sent = await takeTry(deps.database, phoneNumber, new Date());
  const user = await findByPhone(deps.records, phoneNumber);
  const isRight = sent !== null && isSame(deps.encryption.open(sent.sealedCode, purposeOf(phoneNumber)), given.code);
  if (sent === null || user === null || user.disabled || !isRight)
    throw new AppError('invalid_credentials', 'The code is wrong, used, or no longer valid.');
  await passSecondFactor(deps, user, given.totpCode, attempts);
  if (!(await useUpCode(deps.database, sent)))
    throw new AppError('invalid_credentials', 'The code has just been used.');
  await attempts.succeeded();
  await notePhoneVerified(deps.records, user._id, phoneNumber);
  return logUserIn(deps, user, 'code', context);
}

const isSame = (one: string, other: string): boolean =>
  one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));
