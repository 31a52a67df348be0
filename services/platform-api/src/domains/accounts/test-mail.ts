import { AppError, type RequestContext } from '@fleet/service-kit';
import { type Static, Type } from 'typebox';
import type { Caller } from '../../access/caller.ts';
import { mailFailureReasons } from '../../mail/mail-failures.ts';
import type { Deps } from '../../platform/deps.ts';
import { nameEnum } from '../../platform/schemas.ts';
import { audit } from '../audit/use-cases.ts';
import { findUser } from '../users/use-cases.ts';

export const testMailSchema = Type.Object(
  {
    status: nameEnum(['sent', 'failed', 'not_configured'], {
      description: 'sent: the mail server accepted the mail. not_configured: the installation has no mail delivery.',
    }),
    to: Type.String({ examples: ['ann@fleet.example'] }),
    reason: Type.Optional(
      nameEnum(mailFailureReasons, { description: 'Why it failed. The service log has more details.' }),
    ),
  },
  { title: 'TestMail' },
);

/** Sends one mail to the caller's own address and returns the result. */
export async function sendTestMail(
  deps: Deps,
  caller: Caller,
  context: RequestContext,
): Promise<Static<typeof testMailSchema>> {
  const user = await findUser(deps.records, caller, caller.userId);
  const to = user?.email ?? null;
  if (to === null) throw new AppError('state_conflict', 'A test mail requires an e-mail address on your own user.');
  await deps.limits.consume('testMail', `account:${caller.accountId}`, context);
  const result = await sendDirectly(deps, to);
  await audit(deps, caller, 'accounts.test-mail', { type: 'users', id: caller.userId }, result);
  return { ...result, to };
}

async function sendDirectly(deps: Pick<Deps, 'messages' | 'mails'>, to: string) {
  if (!deps.messages.delivers('mail')) return { status: 'not_configured' as const };
  const text = 'This is a test mail of the fleet platform. You can receive its mails.';
  const reason = await deps.mails.sendOnce({ to, subject: 'Test mail of the fleet platform', text });
  return reason === null ? { status: 'sent' as const } : { status: 'failed' as const, reason };
}
