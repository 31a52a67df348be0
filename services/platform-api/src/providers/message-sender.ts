import type { Logger } from '@fleet/service-kit';
import type { Config } from '../assembly/config.ts';
import { type MailSettings, readSmtpServer } from '../mail/mail-settings.ts';
import { type OnHandOver, sendBySmtp } from '../mail/send-by-smtp.ts';
import { type Message, MessageRefusedError } from './message.ts';

export { type Message, MessageRefusedError } from './message.ts';

const sendTimeoutMs = 10_000;
/**
 * Statuses for an invalid address or a text that is too long. Other errors, such as a wrong key or URL, are the
 * operator's to correct, and the message is retried.
 */
const refusalStatuses = new Set([400, 413, 422]);

/** Sends messages to users. Throws if the provider did not accept a message, and MessageRefusedError if it never will. */
export interface MessageSender {
  send(message: Message, onHandOver?: OnHandOver): Promise<void>;
  /** False if messages of a kind are only logged; absent: true. */
  delivers?(kind: Message['kind']): boolean;
}

/**
 * Creates a sender that sends mails by SMTP, or posts messages as JSON to the configured providers. Without either a
 * message is logged, in production without its text, which may contain a code.
 */
export function createMessageSender(
  config: Pick<Config, 'MAIL_URL' | 'MAIL_TOKEN' | 'SMS_URL' | 'SMS_TOKEN' | 'NODE_ENV'> & MailSettings,
  log: Logger,
): MessageSender {
  const providers = {
    mail: { url: config.MAIL_URL, token: config.MAIL_TOKEN },
    sms: { url: config.SMS_URL, token: config.SMS_TOKEN },
  };
  const smtp = readSmtpServer(config);
  return {
    delivers: (kind) => providers[kind].url !== undefined || (kind === 'mail' && smtp !== null),
    send: async (message, onHandOver) => {
      const { kind, id, ...content } = message;
      const { url, token } = providers[kind];
      if (kind === 'mail' && smtp !== null) return sendBySmtp(smtp, message, onHandOver);
      if (url !== undefined) return post(url, token, content, id);
      const loggedContent = config.NODE_ENV === 'production' ? {} : content;
      log.info({ kind, ...loggedContent }, 'no provider is configured, message not sent');
    },
  };
}

async function post(url: string, token: string | undefined, message: object, id: string | undefined): Promise<void> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(id === undefined ? {} : { 'idempotency-key': id }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(message),
    redirect: 'error',
    signal: AbortSignal.timeout(sendTimeoutMs),
  });
  await response.body?.cancel();
  if (response.ok) return;
  const failure = `the message provider responded with ${response.status}`;
  throw refusalStatuses.has(response.status) ? new MessageRefusedError(failure) : new Error(failure);
}
