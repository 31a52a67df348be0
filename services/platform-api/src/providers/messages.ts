import type { Logger } from '@fleet/service-kit';
import type { Config } from '../config.ts';

const sendLimitMs = 10_000;
/** An address that is none, a text that is too long. A wrong key or a wrong URL is the operator's to put right, and the message waits. */
const refusals = new Set([400, 413, 422]);

/** A message to a person. */
export interface Message {
  readonly kind: 'mail' | 'sms';
  readonly to: string;
  /** Of a mail. */
  readonly subject?: string;
  /** Of a mail, where it comes from another address than the provider's own. */
  readonly from?: string;
  readonly text: string;
}

/** The provider will never take this message, however often it is asked: what is wrong is the message's own. */
export class MessageRefused extends Error {
  override readonly name = 'MessageRefused';
}

/** Brings messages to people; throws where the provider did not take one, a MessageRefused where it never will. */
export interface Messages {
  send(message: Message): Promise<void>;
}

/** Posts messages as JSON to the configured providers; without one a message goes to the log, in production without its text: it may hold a code. */
export function messagesOf(
  config: Pick<Config, 'MAIL_URL' | 'MAIL_TOKEN' | 'SMS_URL' | 'SMS_TOKEN' | 'NODE_ENV'>,
  log: Logger,
): Messages {
  const providers = {
    mail: { url: config.MAIL_URL, token: config.MAIL_TOKEN },
    sms: { url: config.SMS_URL, token: config.SMS_TOKEN },
  };
  return {
    send: async ({ kind, ...message }) => {
      const { url, token } = providers[kind];
      if (url !== undefined) return post(url, token, message);
      const shown = config.NODE_ENV === 'production' ? {} : message;
      log.info({ kind, ...shown }, 'no provider is configured: the message was not sent');
    },
  };
}

async function post(url: string, token: string | undefined, message: object): Promise<void> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(message),
    redirect: 'error',
    signal: AbortSignal.timeout(sendLimitMs),
  });
  await response.body?.cancel();
  if (response.ok) return;
  const answered = `the provider of messages answered ${response.status}`;
  throw refusals.has(response.status) ? new MessageRefused(answered) : new Error(answered);
}
