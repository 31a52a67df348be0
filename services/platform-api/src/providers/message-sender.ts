import type { Logger } from '@fleet/service-kit';
import type { Config } from '../assembly/config.ts';
import { type MailSettings, readSmtpServer } from '../mail/settings.ts';
import { type OnHandOver, sendBySmtp } from '../mail/smtp.ts';
import { type Message, MessageRefusedError } from './message.ts';

export { type Message, MessageRefusedError } from './message.ts';

const sendTimeoutMs = 10_000;
/** An address that is none, a text that is too long. A wrong key or a wrong URL is the operator's to put right, and the message waits. */
const refusalStatuses = new Set([400, 413, 422]);

/** Brings messages to people; throws where the provider did not take one, a MessageRefused where it never will. */
export interface MessageSender {
  send(message: Message, onHandOver?: OnHandOver): Promise<void>;
  /** False where messages of a kind go to the log; absent: true. */
  delivers?(kind: Message['kind']): boolean;
}

/** Sends mails by SMTP, or posts messages as JSON to the configured providers. Without either a message goes to the log, in production without its text: it may hold a code. */
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
      log.info({ kind, ...loggedContent }, 'no provider is configured: the message was not sent');
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
  const failure = `the provider of messages answered ${response.status}`;
  throw refusalStatuses.has(response.status) ? new MessageRefusedError(failure) : new Error(failure);
}
