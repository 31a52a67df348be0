import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { ConfigError, type ConfigOf, envSchema } from '@fleet/service-kit';

/** Settings of the mail server. Secrets have `secret`, so that they are not logged with the settings. */
export const mailSettings = envSchema({
  SMTP_URL: {
    type: 'string',
    optional: true,
    // The URL contains the password.
    secret: true,
    pattern: '^smtps?://[^\\s]+$',
    description: 'mail server, smtp://user:password@host:587 or smtps://user:password@host:465; or SMTP_HOST instead',
  },
  SMTP_HOST: {
    type: 'string',
    optional: true,
    pattern: '^[A-Za-z0-9._:-]{1,253}$',
    description: 'host of the mail server, instead of SMTP_URL',
  },
  SMTP_PORT: {
    type: 'integer',
    minimum: 1,
    maximum: 65_535,
    default: 587,
    description: 'port of SMTP_HOST; 465 uses TLS from the first byte, every other port starts with STARTTLS',
  },
  SMTP_USER: { type: 'string', optional: true, description: 'user of SMTP_HOST; without it no log-in is made' },
  SMTP_PASSWORD: { type: 'string', optional: true, secret: true, description: 'password of SMTP_USER' },
  SMTP_ALLOW_PLAINTEXT: {
    type: 'boolean',
    default: false,
    description:
      'permits mails without TLS to a server on another machine that offers no STARTTLS; for trusted networks',
  },
  SMTP_CA_FILE: {
    type: 'string',
    optional: true,
    description: 'PEM file with the certificate authority of a mail server with a private one',
  },
  MAIL_FROM: {
    type: 'string',
    optional: true,
    pattern: '^([^<>\\r\\n"]{1,100}<[^@\\s<>]+@[^@\\s<>]+>|[^@\\s<>]+@[^@\\s<>]+)$',
    description: 'sender of mails by SMTP, such as Fleet <fleet@example.com>',
  },
});

/** The parsed settings. */
export type MailSettings = ConfigOf<typeof mailSettings>;

/** Connection parameters of a mail server. */
export interface SmtpServer {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte; otherwise STARTTLS. */
  readonly isImplicitTls: boolean;
  /** True if a server without STARTTLS is rejected. */
  readonly requiresTls: boolean;
  readonly credentials: { readonly user: string; readonly pass: string } | null;
  readonly from: string;
  /** Certificate authority in PEM; undefined: the public ones. */
  readonly ca: string | undefined;
}

/** Returns the configured mail server, or null. Throws a ConfigError without secrets if settings conflict. */
export function readSmtpServer(settings: MailSettings): SmtpServer | null {
  const { SMTP_URL: url, SMTP_HOST: host, MAIL_FROM: from } = settings;
  if (url === undefined && host === undefined) return null;
  if (url !== undefined && host !== undefined) throw new ConfigError('Set SMTP_URL or SMTP_HOST, not both.');
  if (from === undefined) throw new ConfigError('MAIL_FROM is required with SMTP_URL and SMTP_HOST.');
  const address = url === undefined ? readHostSettings(settings, host ?? '') : parseSmtpUrl(url);
  return {
    ...address,
    requiresTls: !address.isImplicitTls && !settings.SMTP_ALLOW_PLAINTEXT && !isLoopback(address.host),
    from,
    ca: readCertificates(settings.SMTP_CA_FILE),
  };
}

type Address = Pick<SmtpServer, 'host' | 'port' | 'isImplicitTls' | 'credentials'>;

function readHostSettings(
  { SMTP_PORT: port, SMTP_USER: user, SMTP_PASSWORD: pass }: MailSettings,
  host: string,
): Address {
  if ((user === undefined) !== (pass === undefined))
    throw new ConfigError('SMTP_USER and SMTP_PASSWORD must be set together.');
  const credentials = user === undefined || pass === undefined ? null : { user, pass };
  return { host, port, isImplicitTls: port === 465, credentials };
}

function parseSmtpUrl(text: string): Address {
  try {
    const url = new URL(text);
    const isImplicitTls = url.protocol === 'smtps:';
    const [user, pass] = [decodeURIComponent(url.username), decodeURIComponent(url.password)];
    return {
      host: url.hostname.replace(/^\[(.+)\]$/, '$1'),
      port: url.port === '' ? (isImplicitTls ? 465 : 587) : Number(url.port),
      isImplicitTls,
      credentials: user === '' ? null : { user, pass },
    };
  } catch {
    throw new ConfigError('SMTP_URL is not a URL, or its user or password is not percent-encoded.');
  }
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));

function readCertificates(path: string | undefined): string | undefined {
  if (path === undefined) return undefined;
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new ConfigError(`SMTP_CA_FILE cannot be read: ${(cause as Error).message}`);
  }
}
