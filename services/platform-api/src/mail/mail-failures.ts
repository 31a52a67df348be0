import { MessageRefusedError } from '../providers/message.ts';

/** Reasons of failed mails as returned to administrators. They omit the server's text, which is for the operator. */
export const mailFailureReasons = [
  'connection_failed',
  'tls_failed',
  'authentication_failed',
  'temporary_failure',
  'refused',
  'outcome_unknown',
  'expired',
] as const;
export type MailFailureReason = (typeof mailFailureReasons)[number];

/** The mail server deferred a mail, which can be sent again later. */
class MailDeferredError extends Error {
  override readonly name = 'MailDeferred';
  readonly reason: MailFailureReason;
  constructor(reason: MailFailureReason, message: string, cause?: unknown) {
    super(message, { cause });
    this.reason = reason;
  }
}

/**
 * The connection was lost after the mail had been handed over and before the server's reply. A retry might deliver the
 * mail twice.
 */
class MailOutcomeUnknownError extends MessageRefusedError {}

export function toFailureReason(error: unknown): MailFailureReason {
  if (error instanceof MailOutcomeUnknownError) return 'outcome_unknown';
  if (error instanceof MessageRefusedError) return 'refused';
  return error instanceof MailDeferredError ? error.reason : 'temporary_failure';
}

/** Fields of an error of nodemailer's connection. */
interface SmtpFailure {
  readonly code?: string;
  readonly command?: string;
  readonly responseCode?: number;
}

/** Replies to the envelope that indicate a failed log-in, which the operator can correct. */
const authenticationCodes = new Set([530, 534, 535, 538]);
const envelopeCommands = new Set(['MAIL FROM', 'RCPT TO', 'DATA']);

/**
 * Classifies a failure of an SMTP connection. `isHandedOver` is true once the server may have the mail. The error omits
 * the server's text, which may name the recipient.
 */
export function classifySmtpFailure(error: unknown, isHandedOver: boolean): Error {
  const { code = '', command = '', responseCode } = error as SmtpFailure;
  const message = `the mail server did not accept a mail: ${[code, command, responseCode].filter(Boolean).join(' ')}`;
  if (responseCode !== undefined) {
    const isAuthentication = code === 'EAUTH' || authenticationCodes.has(responseCode);
    if (isAuthentication) return new MailDeferredError('authentication_failed', message);
    // A rejection of the connection or of TLS concerns the server, not this mail.
    if (responseCode >= 500 && envelopeCommands.has(command)) return new MessageRefusedError(message);
    return new MailDeferredError(code === 'ETLS' ? 'tls_failed' : 'temporary_failure', message);
  }
  if (isHandedOver) return new MailOutcomeUnknownError(message);
  if (code === 'EENVELOPE' || code === 'EMESSAGE') return new MessageRefusedError(message);
  if (code === 'EAUTH') return new MailDeferredError('authentication_failed', message);
  if (code === 'ETLS' || isCertificateFailure(error)) return new MailDeferredError('tls_failed', message, error);
  return new MailDeferredError('connection_failed', message, error);
}

// Node reports untrusted certificates by many codes; all of them name the certificate, TLS or OpenSSL.
const isCertificateFailure = (error: unknown): boolean => {
  const { code, originalCode = code } = error as { code?: string; originalCode?: string };
  return /CERT|SSL|TLS|SELF_SIGNED|LEAF_SIGNATURE/.test(originalCode ?? '');
};
